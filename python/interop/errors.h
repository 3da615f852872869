// Errors across the border: C++ exceptions become Python's, and Python's travel through C++.
//
// All of it needs the GIL, but for throwing, catching and dropping a PythonError.
#pragma once

#include "python/interop/python.h"

#include <memory>
#include <string>
#include <string_view>

#include "taeda/base/error.h"

namespace taeda::python {

// A message as a text of Python, a new reference; bytes that are no UTF-8 are shown as escapes:
// messages quote names of files and what other programs print.
PyObject* wrap_message(std::string_view message);
// Sets an error with such a message.
void set_error(PyObject* type, std::string_view message);
// Sets the Python error for the C++ exception in flight; called inside a catch block.
void translate_exception();

// A Python exception on its way through C++, maybe to another thread.
class PythonError final : public Error {
 public:
  PythonError(std::string message, std::shared_ptr<PyObject> exception)
      : Error(ErrorKind::External, std::move(message)), exception_(std::move(exception)) {}
  // Makes it the pending error of this thread, with its type and traceback.
  void restore() const;

 private:
  std::shared_ptr<PyObject> exception_;
};

// Throws the pending Python error as a PythonError; it is no longer pending.
[[noreturn]] void throw_python_error();
// Passes a new reference through, throwing when it is null.
inline PyObject* checked(PyObject* o) {
  if (__builtin_expect(o == nullptr, 0)) throw_python_error();
  return o;
}

// Runs f, which returns a new reference; an exception becomes the Python error.
template <class F>
PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}
// The same for slots that return an int: the result of f, or 0 if it has none; -1 on error.
template <class F>
int guarded_int(F&& f) {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return -1;
  }
}

// Makes the classes of symbolic failures, GuardOnDataDependentSymNode and ConstraintViolationError,
// and adds them to `fx_module`, taeda._C._fx; false with a Python error pending.
bool init_symbolic_errors(PyObject* fx_module);

}  // namespace taeda::python
