// What attributes are and how their classes find them.
#pragma once

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

inline PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

inline bool is_data_descriptor(PyObject* found) { return Py_TYPE(found)->tp_descr_set != nullptr; }

// Also of a class derived from property that reads as it does.
inline bool is_property(PyObject* found) {
  return PyType_IsSubtype(Py_TYPE(found), &PyProperty_Type) &&
         Py_TYPE(found)->tp_descr_get == PyProperty_Type.tp_descr_get &&
         Py_TYPE(found)->tp_descr_set == PyProperty_Type.tp_descr_set;
}

inline bool is_named(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

// What CPython says where an attribute that is to be deleted is not the object's own.
[[noreturn]] inline void raise_undeletable(PyObject* object, PyObject* name) {
  const char* const form = PyType_Check(object) ? "type object '%.50s' has no attribute '%U'"
                                                : "'%.100s' object has no attribute '%U'";
  const auto* type =
      PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  Owned text(need(PyUnicode_FromFormat(form, type->tp_name, name)));
  PyErr_SetObject(PyExc_AttributeError, text.get());
  throw Raised{.is_exact = true};
}

}  // namespace taeda::dynamo
