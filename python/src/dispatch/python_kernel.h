// Kernels written in Python: callables that the dispatcher runs for an operator at a key.
#pragma once

#include "python/interop/python.h"

#include <memory>
#include <string>

#include "taeda/dispatch/dispatcher.h"

namespace taeda::python {

// How a call is changed before and after the callable sees it.
struct KernelOptions {
  bool passes_operator = false;  // the OpOverload is the first argument
  bool passes_keys = false;      // the key set comes before the operator's arguments
  bool passes_defaults = false;  // arguments that equal their default are passed too
  bool forbids_aliases = false;  // results share no memory with arguments or each other
};

// The callable as a boxed kernel. It lives as long as the process: a call on another thread may be
// running it; `forget` drops the callable.
class PythonKernel {
 public:
  PythonKernel(PyObject* callable, KernelOptions options);
  dispatch::BoxedKernel boxed() { return {&PythonKernel::run, this}; }
  // Runs the callable only for calls that autograd records or pushes tangents through; others go
  // below autograd at once.
  dispatch::BoxedKernel boxed_for_autograd() { return {&PythonKernel::run_recording, this}; }
  void forget() { callable_.reset(); }

 private:
  static void run(const dispatch::Operator& op, KeySet keys, dispatch::Stack& stack, void* context);
  static void run_recording(const dispatch::Operator& op, KeySet keys, dispatch::Stack& stack,
                            void* context);
  std::shared_ptr<PyObject> callable_;
  KernelOptions options_;
};

// Marks the arguments that an operator writes as written, after the call: for ADInplaceOrView.
dispatch::BoxedKernel version_kernel();

// vmap's rule of an operator: a callable (level, batch size, randomness, args, kwargs) that returns
// the operator's results with wrappers of the level. None takes the rule away.
void set_python_batch_rule(dispatch::Operator& op, PyObject* callable);

}  // namespace taeda::python
