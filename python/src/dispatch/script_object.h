// Objects of custom classes (taeda/dispatch/custom_class.h) in Python.
//
// taeda/_classes.py decides how they look; here a C++ object is held and its methods are called by
// name.
#pragma once

#include "python/interop/python.h"

#include <optional>
#include <string>

#include "taeda/dispatch/value.h"

namespace taeda::python {

// A new Python object around one of a custom class.
PyObject* wrap_script_object(const IntrusivePtr<dispatch::Opaque>& object);
// The object inside, if it is of the class of that qualified name.
std::optional<dispatch::Value> read_script_object(const std::string& class_name, PyObject* o);

extern PyMethodDef script_object_table[];
bool init_script_object_type(PyObject* module);

}  // namespace taeda::python
