// taeda.Tensor: the parts of the type, one per file. Its objects are tensor_object.h's.
#pragma once

#include "python/interop/python.h"

namespace taeda::python {

// Builds the type, with generated and hand-written methods, and adds it to the module.
bool init_tensor_type(PyObject* module);

// The parts. Each table is terminated by an empty entry.
extern PyGetSetDef tensor_properties[];
extern PyMethodDef tensor_shape_methods[];
extern PyMethodDef tensor_value_methods[];
extern PyMethodDef tensor_autograd_methods[];
extern PyMethodDef tensor_interop_methods[];
extern PyMethodDef tensor_storage_methods[];
extern PyMethodDef tensor_class_methods[];
extern PyType_Slot tensor_number_slots[];

// Slots of the type.
Py_ssize_t tensor_length(PyObject* self);
PyObject* tensor_getitem(PyObject* self, PyObject* index);
int tensor_setitem(PyObject* self, PyObject* index, PyObject* value);
int tensor_contains(PyObject* self, PyObject* value);
PyObject* tensor_iter(PyObject* self);
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
PyObject* tensor_richcompare(PyObject* self, PyObject* other, int op);
int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags);
void tensor_release_buffer(PyObject* self, Py_buffer* view);

}  // namespace taeda::python
