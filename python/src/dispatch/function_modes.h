// The stack of function modes a thread has: Python objects whose __torch_function__ sees every
// call.
#pragma once

#include "python/interop/python.h"

#include <vector>

namespace taeda::python {

// Borrowed; valid while is_function_mode_active().
PyObject* innermost_function_mode();
// All of this thread, the outermost first; borrowed.
const std::vector<PyObject*>& function_modes();
void push_function_mode(PyObject* mode);
void pop_function_mode();

// Takes the innermost mode off the stack for a scope and puts it back.
class SetAsideFunctionMode {
 public:
  SetAsideFunctionMode();
  ~SetAsideFunctionMode();
  SetAsideFunctionMode(const SetAsideFunctionMode&) = delete;
  PyObject* get() const { return mode_; }

 private:
  PyObject* mode_;
};

// taeda._C._disabled_torch_function_impl, by which a class says that it does not override. Null
// before init_overrides.
PyObject* disabled_hook();

}  // namespace taeda::python
