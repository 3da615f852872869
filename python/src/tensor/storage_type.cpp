// The storage object: size, address, bytes.
#include "python/src/tensor/storage_type.h"

#include <structmember.h>

#include <cstddef>
#include <new>
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "taeda/core/storage_window.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

namespace {

struct StorageObject {
  PyObject_HEAD Storage storage;
  PyObject* symbolic_nbytes;  // null for a plain number
  bool is_of_wrapper;         // of a tensor that has no memory: there is no address
  PyObject* attributes;       // a dict, null until the first is set
};
PyTypeObject* storage_type = nullptr;
StorageObject* object_of(PyObject* o) { return reinterpret_cast<StorageObject*>(o); }

// The object of each storage that Python holds, so that a storage is one object however often it is
// asked for. Borrowed: an entry goes with its object. Guarded by the interpreter's lock.
std::unordered_map<const StorageImpl*, PyObject*>& live_objects() {
  static auto* objects = new std::unordered_map<const StorageImpl*, PyObject*>;
  return *objects;
}

}  // namespace

namespace {

// Attributes live as long as the storage: while Python holds no object of it, the storage does.
class KeptAttributes final : public RefCounted {
 public:
  explicit KeptAttributes(PyObject* dict) : dict_(keep_object(dict)) {}
  PyObject* dict() const { return dict_.get(); }

 private:
  std::shared_ptr<PyObject> dict_;
};

void hand_attributes_over(PyObject* self) {
  PyObject* attributes = object_of(self)->attributes;
  Storage& storage = storage_of(self);
  if (storage && attributes && PyDict_GET_SIZE(attributes) > 0 && storage->use_count() > 1)
    storage->set_companion(make_intrusive<KeptAttributes>(attributes));
}

void take_attributes_back(PyObject* self) {
  Storage& storage = storage_of(self);
  if (!storage || !storage->companion()) return;
  const auto* kept = dynamic_cast<const KeptAttributes*>(storage->companion().get());
  TAEDA_INTERNAL_CHECK(kept, "a storage keeps something that is no attributes");
  object_of(self)->attributes = Py_NewRef(kept->dict());
  storage->set_companion(nullptr);
}

}  // namespace

bool is_storage(PyObject* o) { return Py_IS_TYPE(o, storage_type); }
Storage& storage_of(PyObject* o) { return reinterpret_cast<StorageObject*>(o)->storage; }

namespace {

// ---- making: of a size, of numbers, of a part of another ----

Storage sized_storage(int64_t nbytes, Device device) {
  TAEDA_CHECK(nbytes >= 0, "Storage size must not be negative: got ", nbytes);
  return make_tensor({nbytes}, DType::UInt8, device).storage();
}

Storage storage_of_numbers(PyObject* data, Device device) {
  const Ref items(checked(PySequence_Fast(
      data,
      "torch.UntypedStorage() received an invalid combination of arguments: expected a size "
      "or a sequence of bytes")));
  TAEDA_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_meta(),
                              "UntypedStorage: numbers go to the CPU, not to ", device.text());
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  Storage storage = sized_storage(n, device);
  if (device.is_meta()) return storage;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const int64_t v = to_int64(PySequence_Fast_GET_ITEM(items.get(), i));
    TAEDA_CHECK_VALUE(v >= 0 && v < 256, "a byte must be in range(0, 256): got ", v);
    static_cast<uint8_t*>(storage->data())[i] = static_cast<uint8_t>(v);
  }
  return storage;
}

// UntypedStorage(), UntypedStorage(nbytes, *, device=None), UntypedStorage(bytes)
PyObject* create_storage(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  PyObject *data = nullptr, *device_object = Py_None;
  static const char* names[] = {"", "device", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names),
                                   &data, &device_object))
    return nullptr;
  return guarded([&] {
    const Device device = device_object == Py_None ? Device() : to_device(device_object);
    if (!data) return wrap_storage(sized_storage(0, device));
    return wrap_storage(is_integer(data) ? sized_storage(to_int64(data), device)
                                         : storage_of_numbers(data, device));
  });
}

// A part, which shares the memory.
PyObject* slice_storage(PyObject* self, PyObject* slice) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return nullptr;
  return guarded([&] {
    const Storage& whole = storage_of(self);
    TAEDA_CHECK(step == 1, "Trying to slice with a step of ", step,
                ", but only a step of 1 is supported");
    const Py_ssize_t n =
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(whole->nbytes()), &start, &stop, step);
    return wrap_storage(storage_window(whole, static_cast<size_t>(start), static_cast<size_t>(n)));
  });
}

// ---- the object ----

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object_of(self)->symbolic_nbytes);
  Py_VISIT(object_of(self)->attributes);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->attributes);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  hand_attributes_over(self);
  live_objects().erase(storage_of(self).get());
  storage_of(self).~Storage();
  Py_XDECREF(object_of(self)->symbolic_nbytes);
  Py_XDECREF(object_of(self)->attributes);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* nbytes(PyObject* self, PyObject*) {
  if (PyObject* symbolic = object_of(self)->symbolic_nbytes) return Py_NewRef(symbolic);
  return PyLong_FromSize_t(storage_of(self)->nbytes());
}
Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(storage_of(self)->nbytes()); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK(!object_of(self)->is_of_wrapper,
                "Attempted to access the data pointer on an invalid python storage.");
    return PyLong_FromVoidPtr(storage_of(self)->data());
  });
}
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* get_device(PyObject* self, void*) { return wrap(storage_of(self)->device()); }

PyObject* resize(PyObject* self, PyObject* nbytes_object) {
  return guarded([&] {
    const int64_t n = to_int64(nbytes_object);
    TAEDA_CHECK(n >= 0, "storage size must not be negative: got ", n);
    storage_of(self)->resize(static_cast<size_t>(n));
    return Py_NewRef(self);
  });
}
// The storage, which must have memory on the CPU.
const Storage& readable(PyObject* self) {
  const Storage& s = storage_of(self);
  TAEDA_CHECK_NOT_IMPLEMENTED(s->device().is_cpu() && (s->data() || s->nbytes() == 0),
                              "Not available for '", device_type_name(s->device().type),
                              "' device: the storage has no memory here");
  return s;
}

PyObject* to_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage& s = readable(self);
    return PyBytes_FromStringAndSize(static_cast<const char*>(s->data()),
                                     static_cast<Py_ssize_t>(s->nbytes()));
  });
}
PyObject* to_list(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage& s = readable(self);
    const auto n = static_cast<Py_ssize_t>(s->nbytes());
    Ref list(checked(PyList_New(n)));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyList_SET_ITEM(list.get(), i,
                      checked(PyLong_FromLong(static_cast<const uint8_t*>(s->data())[i])));
    return list.release();
  });
}

// The interpreter has added the length to a negative index already.
uint8_t* byte_at(PyObject* self, Py_ssize_t i) {
  const Storage& s = readable(self);
  const auto n = static_cast<Py_ssize_t>(s->nbytes());
  TAEDA_CHECK_INDEX(i >= 0 && i < n, "index ", static_cast<int64_t>(i),
                    " out of range for storage of size ", static_cast<int64_t>(n));
  return static_cast<uint8_t*>(s->data()) + i;
}
PyObject* get_byte(PyObject* self, Py_ssize_t i) {
  return guarded([&] { return PyLong_FromLong(*byte_at(self, i)); });
}
int set_byte(PyObject* self, Py_ssize_t i, PyObject* value) {
  return guarded_int([&] {
    TAEDA_CHECK_TYPE(value, "bytes of a storage cannot be deleted");
    const int64_t v = to_int64(value);
    TAEDA_CHECK_VALUE(v >= 0 && v < 256, "a byte must be in range(0, 256): got ", v);
    *byte_at(self, i) = static_cast<uint8_t>(v);
    return 0;
  });
}
PyObject* get_item(PyObject* self, PyObject* index) {
  if (PySlice_Check(index)) return slice_storage(self, index);
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_integer(index), "can't index a torch.UntypedStorage with ",
                     Py_TYPE(index)->tp_name);
    const int64_t i = to_int64(index);
    return get_byte(self, i < 0 ? i + length(self) : i);
  });
}
PyObject* get_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(storage_of(self).get()); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!Py_IS_TYPE(b, storage_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return wrap((storage_of(a) == storage_of(b)) == (op == Py_EQ));
}
Py_hash_t hash(PyObject* self) { return _Py_HashPointer(storage_of(self).get()); }
PyObject* repr(PyObject* self) {
  const Storage& s = storage_of(self);
  return PyUnicode_FromFormat("[torch.storage.UntypedStorage(device=%s) of size %zu]",
                              s->device().text().c_str(), s->nbytes());
}

// How many bytes the geometry of a tensor reaches over.
SymInt reach_of(const TensorImpl& impl) {
  SymInt last = impl.sym_storage_offset();
  for (size_t i = 0; i < impl.sym_sizes().size(); ++i)
    last = last + (impl.sym_sizes()[i] - SymInt(1)) * impl.sym_strides()[i];
  return (last + SymInt(1)) * SymInt(static_cast<int64_t>(item_size(impl.dtype())));
}

PyGetSetDef getters[] = {
    {"device", get_device, nullptr, nullptr, nullptr},
    {"_cdata", get_cdata, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, attributes), READONLY, nullptr},
    {},
};
PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, nullptr},
    {"size", nbytes, METH_NOARGS, nullptr},
    {"data_ptr", data_ptr, METH_NOARGS, nullptr},
    {"element_size", element_size, METH_NOARGS, nullptr},
    {"resize_", resize, METH_O, nullptr},
    {"tolist", to_list, METH_NOARGS, nullptr},
    {"__bytes__", to_bytes, METH_NOARGS, nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("The bytes below a tensor, or below several that share them.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_new, reinterpret_cast<void*>(create_storage)},
    {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_item, reinterpret_cast<void*>(get_byte)},
    {Py_sq_ass_item, reinterpret_cast<void*>(set_byte)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"taeda.UntypedStorage", sizeof(StorageObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* wrap_storage(const Storage& storage) {
  PyObject*& known = live_objects()[storage.get()];
  if (known) return Py_NewRef(known);
  PyObject* self = storage_type->tp_alloc(storage_type, 0);
  if (!self) return nullptr;
  new (&storage_of(self)) Storage(storage);
  take_attributes_back(self);
  return known = self;
}

PyObject* wrap_storage(const Tensor& t) {
  PyObject* self = wrap_storage(t.storage());
  if (self)
    object_of(self)->is_of_wrapper =
        t.storage() && t.keys().has(Key::Python) && dispatch::has_no_memory(t);
  const TensorImpl* whole = t.impl()->view_base() ? t.impl()->view_base() : t.impl();
  if (self && whole->has_symbolic_sizes())
    Py_XSETREF(reinterpret_cast<StorageObject*>(self)->symbolic_nbytes, wrap(reach_of(*whole)));
  return self;
}

Ref bytes_of_typed(PyObject* source, DType dtype) {
  if (!source || is_tensor(source) || is_storage(source)) return Ref();
  Ref bytes(PyObject_GetAttrString(source, "_untyped_storage"));
  if (!bytes || !is_storage(bytes.get())) {
    PyErr_Clear();
    return Ref();
  }
  const Ref own(checked(PyObject_GetAttrString(source, "dtype")));
  const Ref expected(checked(wrap(dtype)));
  TAEDA_CHECK(own.get() == expected.get(), "Expected a Storage of type ", dtype,
              " or an UntypedStorage, but got type ", shown(own.get(), PyObject_Str),
              " for argument 1 'storage'");
  return bytes;
}

bool init_storage_type(PyObject* module) {
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return storage_type && PyModule_AddObjectRef(module, "UntypedStorage",
                                               reinterpret_cast<PyObject*>(storage_type)) == 0;
}

}  // namespace taeda::python
