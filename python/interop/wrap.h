// Turns C++ values into Python objects.
#pragma once

#include "python/interop/python.h"

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

}  // namespace taeda::python
