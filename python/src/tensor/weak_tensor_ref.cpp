// A weak reference to a tensor, for tests of lifetimes.
#include "python/src/tensor/weak_tensor_ref.h"

#include <new>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"

namespace taeda::python {

namespace {

struct WeakObject {
  PyObject_HEAD WeakPtr<TensorImpl> tensor;
};
WeakObject* object_of(PyObject* o) { return reinterpret_cast<WeakObject*>(o); }

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* tensor = nullptr;
  if (!PyArg_ParseTuple(args, "O:_WeakTensorRef", &tensor)) return nullptr;
  return guarded([&] {
    const Tensor& t = expect_tensor(tensor, "_WeakTensorRef's argument");
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&object_of(self)->tensor) WeakPtr<TensorImpl>(t.impl_ptr());
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  object_of(self)->tensor.~WeakPtr<TensorImpl>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* expired(PyObject* self, PyObject*) { return wrap(!object_of(self)->tensor.lock()); }

PyMethodDef methods[] = {{"expired", expired, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"taeda._C._WeakTensorRef", sizeof(WeakObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool init_weak_tensor_ref_type(PyObject* module) {
  Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddObjectRef(module, "_WeakTensorRef", type.get()) == 0;
}

}  // namespace taeda::python
