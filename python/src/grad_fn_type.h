// Backward nodes as Python sees them: tensor.grad_fn.
#pragma once

#include "python/src/python.h"

#include "taeda/autograd/node.h"

namespace taeda::python {

// A new reference; None for no node. Every call makes a handle; handles of one node are equal.
PyObject* wrap_node(const IntrusivePtr<autograd::Node>& node);
bool init_grad_fn_type(PyObject* module);

}  // namespace taeda::python
