// Turns C++ results into Python objects, and C++ exceptions into Python ones.
#pragma once

#include "python/interop/python.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::python {

// Every wrap returns a new reference, or null with a Python error pending.
//
// The tensor's one Python object; None for an undefined tensor.
PyObject* wrap(const Tensor& t);
PyObject* wrap(const Scalar& s);
PyObject* wrap(const SymInt& v);
PyObject* wrap(const IntrusivePtr<SymNode>& v);
PyObject* wrap(DType t);
PyObject* wrap(Device d);
PyObject* wrap(Layout l);
PyObject* wrap(MemoryFormat m);
PyObject* wrap(const Generator& g);
PyObject* wrap(std::string_view s);
inline PyObject* wrap(const std::string& s) { return wrap(std::string_view(s)); }
inline PyObject* wrap(bool v) { return Py_NewRef(v ? Py_True : Py_False); }
inline PyObject* wrap(int64_t v) { return PyLong_FromLongLong(v); }
inline PyObject* wrap(double v) { return PyFloat_FromDouble(v); }
PyObject* wrap(const std::vector<Tensor>& tensors);  // a tuple
PyObject* wrap(IntList values);                      // a tuple of ints
PyObject* wrap(const IntVec& values);
PyObject* wrap_size(SymIntList sizes);  // a Size
template <class T>
PyObject* wrap(const T* v) = delete;  // would convert to bool

// Fills a tuple or struct sequence whose setter is `set`.
template <class Tuple, class Set>
bool fill_items(const Tuple& values, Set&& set) {
  Py_ssize_t i = 0;
  return std::apply(
      [&](const auto&... v) {
        return ([&] {
          PyObject* item = wrap(v);
          if (item) set(i++, item);
          return item != nullptr;
        }() && ...);
      },
      values);
}

template <class... T>
PyObject* wrap(const std::tuple<T...>& values) {
  Ref tuple(PyTuple_New(sizeof...(T)));
  if (!tuple) return nullptr;
  const bool ok =
      fill_items(values, [&](Py_ssize_t i, PyObject* o) { PyTuple_SET_ITEM(tuple.get(), i, o); });
  return ok ? tuple.release() : nullptr;
}

// The struct-sequence type taeda.return_types.<name>, made at the first call and kept; null on
// error.
//   static PyTypeObject* const type = named_result_type("sort", {"values", "indices"});
PyTypeObject* named_result_type(const char* name, std::initializer_list<const char*> fields);
// The module taeda._C._return_types that holds them.
PyObject* return_types_module();

template <class... T>
PyObject* wrap_named(PyTypeObject* type, const std::tuple<T...>& values) {
  if (!type) return nullptr;
  Ref result(PyStructSequence_New(type));
  if (!result) return nullptr;
  const bool ok = fill_items(
      values, [&](Py_ssize_t i, PyObject* o) { PyStructSequence_SetItem(result.get(), i, o); });
  return ok ? result.release() : nullptr;
}

// ---- errors ----
// Sets an error; bytes of the message that are no UTF-8 are shown as escapes.
void set_error(PyObject* type, std::string_view message);
// Sets the Python error for the C++ exception in flight; called inside a catch block.
void translate_exception();
// Shares an object among copies; dropped with the GIL held, from whatever thread.
std::shared_ptr<PyObject> keep_object(PyObject* object);

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
// The same for slots that return an int: 0 (or what f returns) and -1 on error.
template <class F>
int guarded_int(F&& f) {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return -1;
  }
}

// ---- GIL ----
// Releases the GIL for a scope when `wanted`: for work that is large or may block.
class GilRelease {
 public:
  explicit GilRelease(bool wanted = true) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};
// Whether work over this tensor takes long enough for other threads to gain by the GIL.
inline bool is_large(const Tensor& t) {
  return t.defined() && !t.impl()->has_symbolic_sizes() && t.numel() >= 32768;
}

// Holds the GIL for a scope, from any thread.
class GilHold {
 public:
  GilHold() : state_(PyGILState_Ensure()) {}
  ~GilHold() { PyGILState_Release(state_); }
  GilHold(const GilHold&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace taeda::python
