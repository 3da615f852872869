// Tensor.set_: a tensor takes over another's memory, or looks at a storage in a way of its own.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/storage_type.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

namespace {

// Unlike contiguous_strides it reads sizes that nobody has checked yet: a product that overflows is
// the caller's mistake and named as such.
IntVec contiguous(IntList sizes) {
  IntVec strides(sizes.size());
  int64_t running = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = running;
    TAEDA_CHECK(i == 0 || !__builtin_mul_overflow(running, sizes[i] > 0 ? sizes[i] : 1, &running),
                "Storage size calculation overflowed with sizes=", sizes);
  }
  return strides;
}

IntVec read_list(PyObject* o, const char* what) {
  IntVec out;
  if (is_integer(o)) {
    out.push_back(to_int64(o));
    return out;
  }
  TAEDA_CHECK_TYPE(PyTuple_Check(o) || PyList_Check(o), "set_(): argument '", what,
                   "' must be tuple of ints, not ", Py_TYPE(o)->tp_name);
  Ref fast(checked(PySequence_Fast(o, what)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    out.push_back(to_int64(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return out;
}

// The part of the storage that the geometry reaches; the storage grows where it is too small.
Tensor over_storage(const Storage& storage, DType dtype, int64_t offset, IntList sizes,
                    IntList strides) {
  TAEDA_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  TAEDA_CHECK(sizes.size() == strides.size(), "unequal size length (", sizes.size(),
              ") and stride length (", strides.size(), ")");
  for (size_t i = 0; i < sizes.size(); ++i) {
    TAEDA_CHECK(sizes[i] >= 0, "Trying to create tensor with negative dimension ", sizes[i], ": ",
                sizes);
    TAEDA_CHECK(strides[i] >= 0, "Tensor: invalid strides ", strides);
  }
  const auto needed = static_cast<size_t>(storage_bytes(sizes, strides, offset, dtype));
  if (needed > storage->nbytes()) storage->resize(needed);
  Tensor t(make_intrusive<TensorImpl>(storage, dtype, dense_keys(storage->device())));
  t.impl()->set_geometry(sizes, strides, offset);
  return t;
}

struct SetArguments {
  PyObject *source = nullptr, *offset = nullptr, *size = nullptr, *stride = nullptr;
};

Tensor from_storage(const Storage& storage, DType dtype, const SetArguments& given) {
  if (!given.offset && !given.size) {
    const IntVec all{static_cast<int64_t>(storage->nbytes()) / item_size(dtype)};
    return over_storage(storage, dtype, 0, all, contiguous(all));
  }
  TAEDA_CHECK_TYPE(given.offset && given.size,
                   "set_() received an invalid combination of arguments: a storage comes alone or "
                   "with storage_offset and size");
  const IntVec sizes = read_list(given.size, "size");
  const IntVec strides = given.stride ? read_list(given.stride, "stride") : contiguous(sizes);
  return over_storage(storage, dtype, to_int64(given.offset), sizes, strides);
}

Tensor data_to_take(const Tensor& self, const SetArguments& given) {
  const bool is_plain = !given.offset && !given.size && !given.stride;
  if (!given.source && is_plain) return make_tensor({0}, self.dtype(), self.device());
  TAEDA_CHECK_TYPE(given.source && (is_tensor(given.source) || is_storage(given.source)),
                   "set_() received an invalid combination of arguments: expected a Tensor or a "
                   "torch.UntypedStorage, got ",
                   given.source ? Py_TYPE(given.source)->tp_name : "no source");
  if (is_storage(given.source)) {
    const Storage& storage = storage_of(given.source);
    TAEDA_CHECK(storage->device() == self.device(), "Attempted to set the storage of a tensor on ",
                "device \"", self.device(), "\" to a storage on different device \"",
                storage->device(), "\".  This is no longer allowed; the devices must match.");
    return from_storage(storage, self.dtype(), given);
  }
  const Tensor& source = tensor_of(given.source);
  TAEDA_CHECK(source.dtype() == self.dtype(), "Could not set tensor of type ", source.dtype(),
              " to a tensor of type ", self.dtype());
  return is_plain ? source : from_storage(source.storage(), self.dtype(), given);
}

// The bytes of a TypedStorage, a class of Python's, whose dtype must be the tensor's; null for
// anything else.
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

PyObject* tensor_set(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
  SetArguments given;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:set_", const_cast<char**>(names),
                                   &given.source, &given.offset, &given.size, &given.stride))
    return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(!autograd::should_record(t) || !autograd::is_leaf(t),
                "a leaf Variable that requires grad is being used in an in-place operation.");
    TAEDA_CHECK(!autograd::should_record(t),
                "set_() has no derivative: call it under torch.no_grad(), or on a tensor that does "
                "not require gradients");
    const Ref bytes = bytes_of_typed(given.source, t.dtype());
    if (bytes) given.source = bytes.get();
    autograd::set_data(t, data_to_take(t, given));
    if (t.impl()->has_version_counter()) t.impl()->bump_version();
    // Graphs of the old values keep the old accumulator, which is no longer the tensor's.
    if (autograd::AutogradMetaImpl* meta = autograd::meta_or_null(t.impl()))
      meta->grad_accumulator = WeakPtr<autograd::Node>();
    return Py_NewRef(self);
  });
}

}  // namespace

PyMethodDef tensor_storage_methods[] = {
    {"set_", as_function(tensor_set), METH_VARARGS | METH_KEYWORDS,
     "set_(source=None, storage_offset=0, size=None, stride=None) -> Tensor\n\n"
     "Turns the tensor to the memory of another tensor or of a storage."},
    {},
};

}  // namespace taeda::python
