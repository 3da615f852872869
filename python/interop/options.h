// Options that Python gives as a dict.
#pragma once

#include "python/interop/errors.h"

namespace taeda::python {

// Borrowed; null where there is none, or None.
inline PyObject* option(PyObject* options, const char* name) {
  PyObject* value = PyDict_GetItemString(options, name);
  return value == Py_None ? nullptr : value;
}

inline bool is_set(PyObject* options, const char* name) {
  PyObject* value = option(options, name);
  const int yes = value ? PyObject_IsTrue(value) : 0;
  if (yes < 0) throw_python_error();
  return yes == 1;
}

}  // namespace taeda::python
