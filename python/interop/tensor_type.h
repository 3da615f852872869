// taeda.Tensor: the Python type of tensors and its relation to TensorImpl.
//
// A TensorImpl has at most one Python object (Note [Python slot]). `value` always points to the
// impl; the pointer is counted unless impl->owns_python_object(), when the impl holds the object
// instead.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

struct TensorObject {
  PyObject_HEAD Tensor value;
  PyObject* dict;
  PyObject* weakrefs;
};

// Set by init_tensor_type.
extern PyTypeObject* tensor_type;
// The class that objects of fake tensors get; null until Python has one.
extern PyTypeObject* fake_tensor_class;

inline bool is_exact_tensor(PyObject* o) { return Py_IS_TYPE(o, tensor_type); }
inline bool is_tensor(PyObject* o) {
  return is_exact_tensor(o) || PyType_IsSubtype(Py_TYPE(o), tensor_type);
}
// The tensor of an object for which is_tensor holds.
inline Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->value; }
// Throws a TypeError that names `what` unless `o` is a tensor.
Tensor& expect_tensor(PyObject* o, const char* what);

// A new object of class `type` for a tensor that has none yet; `wrap` covers the common case. The
// tensor goes to the class's __torch_dispatch__ from now on, where it has one (Note [Subclasses]).
PyObject* new_tensor_object(PyTypeObject* type, Tensor value);
// The same for a tensor that may have an object, which must then be of that class.
PyObject* tensor_object(PyTypeObject* type, Tensor value);

// Shows the object to the collector from now on: it may refer to Python objects through a hook or
// the function that made it.
void track_tensor(PyObject* tensor);

// Builds the type, with generated and hand-written methods, and adds it to the module.
bool init_tensor_type(PyObject* module);

// Parts of the type, one a file. Each is terminated by an empty entry.
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
