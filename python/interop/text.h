// The text of Python objects.
#pragma once

#include <string>

#include "python/interop/errors.h"

namespace taeda::python {

// Of a str; throws the pending Python error for other objects.
inline std::string text_of(PyObject* o) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw_python_error();
  return std::string(text, static_cast<size_t>(size));
}

// As str() or repr() show an object: shown(o, PyObject_Repr).
inline std::string shown(PyObject* o, PyObject* (*show)(PyObject*)) {
  const Ref text(checked(show(o)));
  return text_of(text.get());
}

}  // namespace taeda::python
