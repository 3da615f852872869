// SharedArena: blocks of shared memory for a channel between two processes.
#include <new>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/multiprocessing/storage_sharing.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/core/shared_arena.h"

namespace taeda::python {

namespace {

using ArenaPtr = IntrusivePtr<SharedArena>;

struct ArenaObject {
  PyObject_HEAD ArenaPtr arena;
};
SharedArena& arena_of(PyObject* o) { return *reinterpret_cast<ArenaObject*>(o)->arena; }

// Without arguments a new one, with a descriptor that of another process.
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  int descriptor = -1;
  if (!PyArg_ParseTuple(args, "|i:SharedArena", &descriptor)) return nullptr;
  return guarded([&] {
    ArenaPtr arena = PyTuple_GET_SIZE(args) ? SharedArena::open(descriptor) : SharedArena::create();
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<ArenaObject*>(self)->arena) ArenaPtr(std::move(arena));
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<ArenaObject*>(self)->arena.~ArenaPtr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* fileno(PyObject* self, PyObject*) { return PyLong_FromLong(arena_of(self).descriptor()); }

PyObject* allocate(PyObject* self, PyObject* o) {
  return guarded([&] {
    const Py_ssize_t nbytes = PyLong_AsSsize_t(o);
    if (nbytes == -1 && PyErr_Occurred()) throw_python_error();
    TAEDA_CHECK_VALUE(nbytes >= 0, "expected a non-negative size, got ", int64_t{nbytes});
    const Storage storage = arena_of(self).allocate(static_cast<size_t>(nbytes));
    return storage ? wrap_storage(storage) : Py_NewRef(Py_None);
  });
}

PyObject* send(PyObject* self, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_storage(o), "expected an UntypedStorage, got ", Py_TYPE(o)->tp_name);
    const int64_t place = arena_of(self).send(*storage_of(o));
    return place < 0 ? Py_NewRef(Py_None) : wrap(place);
  });
}

PyObject* receive(PyObject* self, PyObject* args) {
  long long place = 0;
  Py_ssize_t nbytes = 0;
  if (!PyArg_ParseTuple(args, "Ln:receive", &place, &nbytes)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK_VALUE(nbytes >= 0, "expected a non-negative size, got ", int64_t{nbytes});
    return wrap_storage(arena_of(self).receive(place, static_cast<size_t>(nbytes)));
  });
}

PyObject* trim(PyObject* self, PyObject*) {
  return guarded([&] {
    arena_of(self).trim();
    return Py_NewRef(Py_None);
  });
}

PyObject* used_bytes(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(arena_of(self).used_bytes()); });
}

PyMethodDef methods[] = {
    {"fileno", fileno, METH_NOARGS, nullptr},
    {"allocate", allocate, METH_O, "A storage over a block; None where the arena is full."},
    {"send", send, METH_O, "The place of a storage's block for one message, or None."},
    {"receive", receive, METH_VARARGS, "The storage over the block at a place."},
    {"trim", trim, METH_NOARGS, "Gives memory that nobody uses back to the system."},
    {"used_bytes", used_bytes, METH_NOARGS, nullptr},
    {}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Shared memory in which one process lays out blocks and another "
                                  "reads them in place.")},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"taeda._C._multiprocessing.SharedArena", sizeof(ArenaObject), 0,
                    Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool init_shared_arena_type(PyObject* multiprocessing) {
  const Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddObjectRef(multiprocessing, "SharedArena", type.get()) == 0;
}

}  // namespace taeda::python
