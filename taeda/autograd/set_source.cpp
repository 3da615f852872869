// The operators set_: a tensor goes on with other memory under its own history.
#include "taeda/autograd/set_source.h"

#include "taeda/autograd/variable.h"
#include "taeda/dispatch/library.h"

namespace taeda::autograd {
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

Tensor& take(Tensor& self, const Tensor& data) {
  set_data(self, data);
  if (self.impl()->has_version_counter()) self.impl()->bump_version();
  // Graphs of the old values keep the old accumulator, which is no longer the tensor's.
  if (AutogradMetaImpl* meta = meta_or_null(self.impl())) meta->grad_accumulator = WeakPtr<Node>();
  return self;
}

void check_device(const Tensor& self, const Storage& storage) {
  TAEDA_CHECK(storage->device() == self.storage()->device(),
              "Attempted to set the storage of a tensor on device \"", self.device(),
              "\" to a storage on different device \"", storage->device(),
              "\".  This is no longer allowed; the devices must match.");
}

}  // namespace

Tensor& set_to_nothing(Tensor& self) {
  const Storage none = make_tensor({0}, self.dtype(), self.storage()->device()).storage();
  return take(self, over_storage(self, none, 0, {0}, {1}));
}

Tensor& set_to_tensor(Tensor& self, const Tensor& source) {
  TAEDA_CHECK(source.dtype() == self.dtype(), "Could not set tensor of type ", source.dtype(),
              " to a tensor of type ", self.dtype());
  return take(self, source);
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

}  // namespace taeda::autograd
