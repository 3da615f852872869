// Tensor.set_ and its operators: a tensor takes over another's memory, or looks at a storage in a
// way of its own.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/storage_type.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/boxing.h"
#include "taeda/dispatch/library.h"

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
Tensor over_storage(const Tensor& self, const Storage& storage, int64_t offset, IntList sizes,
                    IntList strides) {
  TAEDA_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  TAEDA_CHECK(sizes.size() == strides.size(), "unequal size length (", sizes.size(),
              ") and stride length (", strides.size(), ")");
  for (size_t i = 0; i < sizes.size(); ++i) {
    TAEDA_CHECK(sizes[i] >= 0, "Trying to create tensor with negative dimension ", sizes[i], ": ",
                sizes);
    TAEDA_CHECK(strides[i] >= 0, "Tensor: invalid strides ", strides);
  }
  const auto needed = static_cast<size_t>(storage_bytes(sizes, strides, offset, self.dtype()));
  if (needed > storage->nbytes()) storage->resize(needed);
  // A fake tensor, whose storage is on the meta device, stays one.
  if (storage->device() != self.device()) {
    Tensor t = make_alias(self, sizes, strides, offset);
    t.impl()->set_storage(storage);
    return t;
  }
  Tensor t(make_intrusive<TensorImpl>(storage, self.dtype(), dense_keys(storage->device())));
  t.impl()->set_geometry(sizes, strides, offset);
  return t;
}

// ---- operators: how modes and classes see set_ ----

Tensor& take(Tensor& self, const Tensor& data) {
  autograd::set_data(self, data);
  if (self.impl()->has_version_counter()) self.impl()->bump_version();
  // Graphs of the old values keep the old accumulator, which is no longer the tensor's.
  if (autograd::AutogradMetaImpl* meta = autograd::meta_or_null(self.impl()))
    meta->grad_accumulator = WeakPtr<autograd::Node>();
  return self;
}

Tensor& set_to_nothing(Tensor& self) {
  const Storage none = make_tensor({0}, self.dtype(), self.storage()->device()).storage();
  return take(self, over_storage(self, none, 0, {0}, {1}));
}

Tensor& set_to_tensor(Tensor& self, const Tensor& source) {
  TAEDA_CHECK(source.dtype() == self.dtype(), "Could not set tensor of type ", source.dtype(),
              " to a tensor of type ", self.dtype());
  return take(self, source);
}

void check_device(const Tensor& self, const Storage& storage) {
  TAEDA_CHECK(storage->device() == self.storage()->device(),
              "Attempted to set the storage of a tensor on device \"", self.device(),
              "\" to a storage on different device \"", storage->device(),
              "\".  This is no longer allowed; the devices must match.");
}

Tensor& set_to_storage(Tensor& self, Storage source) {
  check_device(self, source);
  const IntVec all{static_cast<int64_t>(source->nbytes()) / item_size(self.dtype())};
  return take(self, over_storage(self, source, 0, all, contiguous(all)));
}

Tensor& set_to_window(Tensor& self, Storage source, SymInt offset, SymIntList size,
                      SymIntList stride) {
  check_device(self, source);
  const IntList sizes = as_int(size);
  const IntVec dense = stride.empty() ? contiguous(sizes) : IntVec();
  const IntList strides = stride.empty() ? IntList(dense) : as_int(stride);
  return take(self, over_storage(self, source, offset.expect_int(), sizes, strides));
}

TAEDA_LIBRARY_FRAGMENT(aten, m) {
  const auto def = [&](const char* name, const char* arguments,
                       const dispatch::CppFunction& kernel) {
    m.def(str(name, "(Tensor(a!) self", arguments, ") -> Tensor(a!)"));
    m.impl(name, "CompositeExplicitAutograd", kernel);
  };
  def("set_", "", &set_to_nothing);
  def("set_.source_Tensor", ", Tensor source", &set_to_tensor);
  def("set_.source_Storage", ", Storage source", &set_to_storage);
  def("set_.source_Storage_storage_offset",
      ", Storage source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]", &set_to_window);
}

// Runs the kernel, or the operator of this name where a mode or a class of `keys` may take it.
template <class... A>
void call(const char* op, Tensor& (*kernel)(Tensor&, A...), KeySet keys, Tensor& self,
          std::type_identity_t<A>... args) {
  if (!dispatch::with_local(keys).has(Key::Python)) {
    kernel(self, args...);
    return;
  }
  dispatch::Stack stack;
  dispatch::push_argument<Tensor&>(stack, self);
  (dispatch::push_argument<A>(stack, args), ...);
  dispatch::call_boxed(dispatch::get_operator(op), stack);
}

// ---- the method ----

struct SetArguments {
  PyObject *source = nullptr, *offset = nullptr, *size = nullptr, *stride = nullptr;
};

void set_window(Tensor& self, const Storage& storage, const SetArguments& given) {
  TAEDA_CHECK_TYPE(given.offset && given.size,
                   "set_() received an invalid combination of arguments: a storage comes alone or "
                   "with storage_offset and size");
  const IntVec sizes = read_list(given.size, "size");
  const IntVec strides = given.stride ? read_list(given.stride, "stride") : IntVec();
  call("set_.source_Storage_storage_offset", &set_to_window, self.keys(), self, storage,
       SymInt(to_int64(given.offset)), as_symint(sizes), as_symint(strides));
}

void set(Tensor& self, const SetArguments& given) {
  const bool is_plain = !given.offset && !given.size && !given.stride;
  if (!given.source && is_plain) return call("set_", &set_to_nothing, self.keys(), self);
  TAEDA_CHECK_TYPE(given.source && (is_tensor(given.source) || is_storage(given.source)),
                   "set_() received an invalid combination of arguments: expected a Tensor or a "
                   "torch.UntypedStorage, got ",
                   given.source ? Py_TYPE(given.source)->tp_name : "no source");
  if (is_storage(given.source)) {
    const Storage& storage = storage_of(given.source);
    return is_plain ? call("set_.source_Storage", &set_to_storage, self.keys(), self, storage)
                    : set_window(self, storage, given);
  }
  const Tensor& source = tensor_of(given.source);
  if (is_plain)
    return call("set_.source_Tensor", &set_to_tensor, self.keys() | source.keys(), self, source);
  TAEDA_CHECK(source.dtype() == self.dtype(), "Could not set tensor of type ", source.dtype(),
              " to a tensor of type ", self.dtype());
  set_window(self, source.storage(), given);
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
    set(tensor_of(self), given);
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
