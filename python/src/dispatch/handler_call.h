// One operator call as the handlers called __torch_dispatch__ see it: modes and classes of tensors.
//
// All of it needs the GIL.
#pragma once

#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overrides.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

class HandlerCall {
 public:
  HandlerCall(const dispatch::Operator& op, const dispatch::Stack& stack);

  // The arguments whose classes have a handler, one per class, subclasses before their bases.
  const Overloaded& subclasses() const { return subclasses_; }
  // handler.__torch_dispatch__(func, types, args, kwargs), NotImplemented included.
  Ref ask(PyObject* handler) const;
  // Replaces the arguments on the stack by the handler's results. An argument that the operator
  // writes to is returned itself, whatever the handler gave.
  void finish(PyObject* result, dispatch::Stack& stack) const;
  // Throws the TypeError of a call that all declined; `mode` may be null.
  [[noreturn]] void fail_declined(PyObject* mode) const;

 private:
  const CallSchema& schema_;
  PyObject* overload_;  // borrowed: lives as long as the process
  Ref args_, kwargs_, types_;
  Overloaded subclasses_;
  bool is_control_flow_ = false;
};

// Takes the calls of handlers of classes on this thread, on fake tensors; null: nobody does.
class HandlerTaker {
 public:
  virtual ~HandlerTaker() = default;
  // `rule` is called in place of the class's handler where it is there. A new reference, or null
  // with an error.
  virtual PyObject* take(PyTypeObject* type, PyObject* rule, PyObject* args) = 0;
};
extern thread_local HandlerTaker* handler_taker;

// Whether instances of the class go to its own __torch_dispatch__; kept out of the way of plain
// tensors by its only caller.
bool class_dispatches(PyTypeObject* type);

// The object of a mode written in Python, a new reference; None for another mode.
PyObject* mode_object(dispatch::Mode& mode);

// Functions of wrapper_subclass.cpp.
PyObject* make_wrapper_subclass(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                                PyObject* kwnames);
PyObject* is_memoryless(PyObject*, PyObject* o);
PyObject* set_storage_of(PyObject*, PyObject* const* argv, Py_ssize_t nargs);
PyObject* set_geometry_of(PyObject*, PyObject* const* argv, Py_ssize_t nargs);

// Adds the guards and functions that switch dispatch to Python off and on.
bool init_handlers(PyObject* module);

}  // namespace taeda::python
