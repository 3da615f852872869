// The Python object of a tensor: its identity and its lifetime.
//
// A TensorImpl has at most one Python object (Note [Python slot]). `value` always points to the
// impl; the pointer is counted unless impl->owns_python_object(), when the impl holds the object
// instead. All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

struct TensorObject {
  PyObject_HEAD Tensor value;
  PyObject* dict;
  PyObject* weakrefs;
};

// taeda.Tensor; set by init_tensor_objects.
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

// ---- for whoever puts the type together ----
// The slots of lifetime and identity, terminated by an empty entry, and the attribute __dict__.
extern PyType_Slot tensor_lifetime_slots[];
extern PyGetSetDef tensor_dict_property;
// Gives a class derived from Tensor the deallocator that knows about ownership.
void adopt_subclass(PyTypeObject* type);

// Questions about tensors that only the bindings can answer, and that decide how long an object
// lives.
struct TensorObjectHooks {
  // Whether instances of the class go to its own __torch_dispatch__.
  bool (*class_dispatches)(PyTypeObject* type);
  // Shows the collector the Python objects that the impl alone keeps alive; as a traverse function.
  int (*visit_history)(const TensorImpl* impl, visitproc visit, void* arg);
};
// Objects of `type`, which has the slots above, can be made from now on; false with a Python error
// pending.
bool init_tensor_objects(PyTypeObject* type, const TensorObjectHooks& hooks);

}  // namespace taeda::python
