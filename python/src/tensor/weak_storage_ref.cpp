// StorageWeakRef: equal for references to one storage, also after it is gone.
#include "python/src/tensor/weak_storage_ref.h"

#include <new>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/storage_type.h"

namespace taeda::python {

namespace {

// The weak reference keeps the address from being used again.
struct WeakObject {
  PyObject_HEAD WeakPtr<StorageImpl> storage;
  StorageImpl* address;
};
WeakObject* object_of(PyObject* o) { return reinterpret_cast<WeakObject*>(o); }
PyTypeObject* weak_type = nullptr;

// The bytes of an UntypedStorage, or of a TypedStorage, a class of Python's.
Ref bytes_of(PyObject* o) {
  if (is_storage(o)) return Ref::share(o);
  Ref bytes(checked(PyObject_GetAttrString(o, "_untyped_storage")));
  TAEDA_CHECK_TYPE(is_storage(bytes.get()), "StorageWeakRef(): expected a storage, got ",
                   Py_TYPE(o)->tp_name);
  return bytes;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* given = nullptr;
  if (!PyArg_ParseTuple(args, "O:StorageWeakRef", &given)) return nullptr;
  return guarded([&] {
    const Ref bytes = bytes_of(given);
    const Storage& storage = storage_of(bytes.get());
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&object_of(self)->storage) WeakPtr<StorageImpl>(storage);
    object_of(self)->address = storage.get();
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  object_of(self)->storage.~WeakPtr<StorageImpl>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* expired(PyObject* self, PyObject*) { return wrap(!object_of(self)->storage.lock()); }
PyObject* lock(PyObject* self, PyObject*) {
  const Storage storage = object_of(self)->storage.lock();
  return storage ? wrap_storage(storage) : Py_NewRef(Py_None);
}
PyObject* get_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(object_of(self)->address); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!Py_IS_TYPE(b, weak_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return wrap((object_of(a)->address == object_of(b)->address) == (op == Py_EQ));
}
Py_hash_t hash(PyObject* self) { return _Py_HashPointer(object_of(self)->address); }

PyMethodDef methods[] = {{"expired", expired, METH_NOARGS,
                          "expired() -> bool\n\n"
                          "Whether nobody holds the storage any more."},
                         {"_lock", lock, METH_NOARGS,
                          "_lock() -> UntypedStorage | None\n\n"
                          "The storage; None when it is gone."},
                         {}};
PyGetSetDef getters[] = {
    {"cdata", get_cdata, nullptr, "A number per storage, as UntypedStorage._cdata.", nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A weak reference to a storage.")},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, nullptr},
};
PyType_Spec spec = {"taeda._C._StorageWeakRef", sizeof(WeakObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool init_weak_storage_ref_type(PyObject* module) {
  weak_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return weak_type && PyModule_AddObjectRef(module, "_StorageWeakRef",
                                            reinterpret_cast<PyObject*>(weak_type)) == 0;
}

}  // namespace taeda::python
