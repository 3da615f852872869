// SharedArena: blocks of shared memory for a channel between two processes.
#include <cstring>
#include <new>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/multiprocessing/storage_sharing.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/autograd/guards.h"
#include "taeda/autograd/variable.h"
#include "taeda/core/shared_arena.h"
#include "taeda/ops/functions.h"

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

// What a message says of a tensor, before its sizes and strides.
struct TensorHeader {
  int64_t place, nbytes, offset;
  uint8_t dtype, ndim, is_conj, is_neg, requires_grad;
  uint8_t unused[3] = {};
};

PyObject* bytes_of(const Tensor& t, int64_t place) {
  const TensorImpl& impl = *t.impl();
  const TensorHeader header = {place,
                               static_cast<int64_t>(t.storage()->nbytes()),
                               impl.storage_offset(),
                               static_cast<uint8_t>(t.dtype()),
                               static_cast<uint8_t>(t.sizes().size()),
                               t.is_conj(),
                               t.is_neg(),
                               autograd::requires_grad(t)};
  const size_t dims = t.sizes().size() * sizeof(int64_t);
  PyObject* bytes = checked(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(sizeof header + 2 * dims)));
  char* out = PyBytes_AS_STRING(bytes);
  std::memcpy(out, &header, sizeof header);
  std::memcpy(out + sizeof header, t.sizes().data(), dims);
  std::memcpy(out + sizeof header + dims, t.strides().data(), dims);
  return bytes;
}

// A tensor that is a small part of its storage goes alone.
PyObject* send_tensor(PyObject* self, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_tensor(o), "expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = tensor_of(o);
    SharedArena& arena = arena_of(self);
    const size_t own = static_cast<size_t>(t.numel()) * item_size(t.dtype());
    if (2 * own >= t.storage()->nbytes()) {
      const int64_t place = arena.send(t.storage());
      return place < 0 ? Py_NewRef(Py_None) : bytes_of(t, place);
    }
    NoGradGuard no_grad;
    Tensor alone = taeda::clone(t.detach(), MemoryFormat::Contiguous);
    const int64_t place = arena.send(alone.storage());
    if (place < 0) return Py_NewRef(Py_None);
    if (autograd::requires_grad(t)) alone.requires_grad_(true);
    return bytes_of(alone, place);
  });
}

PyObject* receive_tensor(PyObject* self, PyObject* o) {
  return guarded([&] {
    TensorHeader header;
    TAEDA_CHECK_TYPE(PyBytes_Check(o), "expected bytes, got ", Py_TYPE(o)->tp_name);
    const auto size = static_cast<size_t>(PyBytes_GET_SIZE(o));
    const char* in = PyBytes_AS_STRING(o);
    TAEDA_CHECK(size >= sizeof header, "a message of ", size, " bytes is no tensor");
    std::memcpy(&header, in, sizeof header);
    const size_t dims = header.ndim * sizeof(int64_t);
    TAEDA_CHECK(size == sizeof header + 2 * dims && header.dtype < kNumDTypes && header.nbytes >= 0,
                "a message of ", size, " bytes is no tensor");
    IntVec sizes(header.ndim), strides(header.ndim);
    std::memcpy(sizes.data(), in + sizeof header, dims);
    std::memcpy(strides.data(), in + sizeof header + dims, dims);
    const Storage storage =
        arena_of(self).receive(header.place, static_cast<size_t>(header.nbytes));
    const auto dtype = static_cast<DType>(header.dtype);
    TAEDA_CHECK(storage_bytes(sizes, strides, header.offset, dtype) <= header.nbytes,
                "a tensor of a message reaches beyond its storage");
    Tensor t(make_intrusive<TensorImpl>(storage, dtype, dense_keys(storage->device()), sizes));
    t.impl()->set_geometry(sizes, strides, header.offset);
    if (header.is_conj) t = taeda::conj(t);
    if (header.is_neg) t = taeda::_neg_view(t);
    if (header.requires_grad) t.requires_grad_(true);
    return wrap(t);
  });
}

// empty(size, dtype): None where the arena is full.
PyObject* empty(PyObject* self, PyObject* args) {
  PyObject *size = nullptr, *dtype_object = nullptr;
  if (!PyArg_ParseTuple(args, "O!O:empty", &PyTuple_Type, &size, &dtype_object)) return nullptr;
  return guarded([&] {
    const DType dtype = to_dtype(dtype_object);
    IntVec sizes(static_cast<size_t>(PyTuple_GET_SIZE(size)));
    int64_t nbytes = static_cast<int64_t>(item_size(dtype));
    for (size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = to_int64(PyTuple_GET_ITEM(size, static_cast<Py_ssize_t>(i)));
      TAEDA_CHECK(sizes[i] >= 0 && !__builtin_mul_overflow(nbytes, sizes[i], &nbytes),
                  "no size of a tensor: ", sizes);
    }
    const Storage storage = arena_of(self).allocate(static_cast<size_t>(nbytes));
    if (!storage) return Py_NewRef(Py_None);
    return wrap(
        Tensor(make_intrusive<TensorImpl>(storage, dtype, dense_keys(storage->device()), sizes)));
  });
}

PyObject* send(PyObject* self, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_storage(o), "expected an UntypedStorage, got ", Py_TYPE(o)->tp_name);
    const int64_t place = arena_of(self).send(storage_of(o));
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

PyObject* end_message(PyObject* self, PyObject*) {
  arena_of(self).end_message();
  Py_RETURN_NONE;
}

PyObject* lend(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<int64_t> places = arena_of(self).lend();
    Ref list(checked(PyList_New(static_cast<Py_ssize_t>(places.size()))));
    for (size_t i = 0; i < places.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap(places[i])));
    return list.release();
  });
}

PyObject* take_back(PyObject* self, PyObject* given) {
  return guarded([&] {
    const Ref items(checked(PySequence_Fast(given, "expected a list of places")));
    std::vector<int64_t> places;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      places.push_back(to_int64(PySequence_Fast_GET_ITEM(items.get(), i)));
    arena_of(self).take_back(places);
    return Py_NewRef(Py_None);
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
    {"empty", empty, METH_VARARGS, "A tensor of a size and a dtype; None where the arena is full."},
    {"send", send, METH_O, "The place of a storage for one message; None where there is no room."},
    {"receive", receive, METH_VARARGS, "The storage at a place."},
    {"send_tensor", send_tensor, METH_O,
     "A tensor on the CPU as bytes for one message; None where there is no room."},
    {"receive_tensor", receive_tensor, METH_O, "The tensor of such bytes."},
    {"end_message", end_message, METH_NOARGS,
     "What is sent from now on belongs to another message."},
    {"lend", lend, METH_NOARGS,
     "Keeps the blocks of storages here for a child that is about to be forked: their places."},
    {"take_back", take_back, METH_O, "Undoes lend where the child is gone."},
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
