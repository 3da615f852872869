// Forward mode through a call of autograd.Function.
#pragma once

#include "python/interop/python.h"

#include "python/src/autograd/python_node.h"

namespace taeda::python {

// A call of forward and what became of it.
struct FinishedCall {
  const autograd::CustomCall& call;
  const std::vector<Tensor>& returned;  // by forward; undefined where that is no tensor
  const std::vector<Tensor>& outputs;   // of apply
};

// Runs the class's jvp on the tangents of the arguments and hands its results to the outputs. An
// argument without a tangent counts as zeros where the context materializes gradients, else as
// None. Throws PyTorch's errors where a written or returned argument and its tangent part ways.
void push_forward(PyObject* cls, FunctionObject& context, Span<PyObject*> args,
                  const FinishedCall& finished);

}  // namespace taeda::python
