// copy_ and fill_ for devices behind the seam: bytes where layouts agree, by way of the host where
// not.
#include "taeda/backends/device_kernels.h"
#include "taeda/backends/device_registry.h"
#include "taeda/backends/lowered/forms.h"
#include "taeda/dispatch/library.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::devices {
namespace {

bool is_on_host(const Tensor& t) { return t.is_cpu(); }

size_t reached_bytes(const Tensor& t) {
  return static_cast<size_t>(storage_bytes(t.sizes(), t.strides(), 0, t.dtype()));
}

int index_of(const Tensor& t) { return std::max<int>(t.device().index, 0); }

// Same elements in the same places: bytes can be copied as they lie.
bool has_same_layout(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg() &&
         a.impl()->is_non_overlapping_and_dense();
}

void copy_bytes(const Tensor& dst, const Tensor& src) {
  const size_t bytes = reached_bytes(src);
  if (is_on_host(src))
    runtime_of(dst.device().type).copy_to_device(index_of(dst), dst.data(), src.data(), bytes);
  else if (is_on_host(dst))
    runtime_of(src.device().type).copy_to_host(index_of(src), dst.data(), src.data(), bytes);
  else
    runtime_of(src.device().type)
        .copy_on_device(index_of(dst), dst.data(), index_of(src), src.data(), bytes);
}

Tensor& fill(Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return self;
  if (value.equals(0) && !value.is_floating() && self.impl()->is_non_overlapping_and_dense()) {
    runtime_of(self.device().type).set_memory(index_of(self), self.data(), 0, reached_bytes(self));
    return self;
  }
  BelowADInplaceOrView guard;
  Tensor image = host_image(self, !self.impl()->is_non_overlapping_and_dense());
  image.fill_(value);
  write_image(image, self);
  return self;
}

// One number, copied to the host.
Scalar read_number(const Tensor& self) {
  BelowADInplaceOrView guard;
  return taeda::_local_scalar_dense(host_image(self, true));
}

}  // namespace

Tensor& copy_between(Tensor& self, const Tensor& src, bool) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!src.is_meta(), "Cannot copy out of meta tensor; no data!");
  if (self.is_same(src) || self.is_meta()) return self;
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), src.sym_sizes());
  TAEDA_CHECK(SymIntList(shape) == self.sym_sizes(), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", shape);
  if (self.numel() == 0) return self;
  const bool share_type =
      is_on_host(self) || is_on_host(src) || self.device().type == src.device().type;
  if (share_type && has_same_layout(self, src)) {
    copy_bytes(self, src);
    return self;
  }
  BelowADInplaceOrView guard;
  const Tensor from = is_on_host(src) ? src : host_image(src, true);
  if (is_on_host(self)) {
    self.copy_(from);
  } else {
    Tensor image = host_image(self, !self.impl()->is_non_overlapping_and_dense());
    image.copy_(from);
    write_image(image, self);
  }
  return self;
}

Tensor host_image(const Tensor& t, bool is_read) {
  Tensor image = make_tensor_strided(t.sizes(), t.strides(), t.dtype(), DeviceType::CPU);
  KeySet flags;
  if (t.is_conj()) flags = flags | KeySet(Key::Conjugate);
  if (t.is_neg()) flags = flags | KeySet(Key::Negative);
  image.impl()->set_keys(image.keys() | flags);
  if (t.impl()->is_wrapped_number()) image.impl()->set_wrapped_number(true);
  if (is_read && t.numel())
    runtime_of(t.device().type).copy_to_host(index_of(t), image.data(), t.data(), reached_bytes(t));
  return image;
}

Tensor distinct_places(const Tensor& t) {
  IntVec sizes(t.sizes());
  for (size_t d = 0; d < sizes.size(); ++d)
    if (t.strides()[d] == 0 && sizes[d] > 1) sizes[d] = 1;
  return make_alias(t, sizes, t.strides(), t.storage_offset());
}

void write_image(const Tensor& image, const Tensor& t) {
  if (t.numel())
    runtime_of(t.device().type)
        .copy_to_device(index_of(t), t.data(), image.data(), reached_bytes(t));
}

void register_device_kernels(DeviceType type) {
  using dispatch::DispatchTarget;
  // Registrations stay for the life of the process, as the device does. They are put below what a
  // plug-in registers for the same operator: a plug-in registers when it is opened, which is before
  // this runs.
  const int slot = slot_of(Key::Dense, type);
  const auto add = [&](const char* name, auto* fn) {
    dispatch::Operator& op = dispatch::get_operator(name);
    if (dispatch::has_kernel(op, slot)) return;
    const dispatch::BoxedKernel boxed{
        &dispatch::CallBoxedFor<std::remove_pointer_t<decltype(fn)>>::call_function,
        reinterpret_cast<void*>(fn)};
    dispatch::register_kernel(op, slot, nullptr, boxed, "taeda/backends/device_copy.cpp");
  };
  if (runtime_of(type).can_compile()) lowered::register_forms(type);
  add("copy_", &copy_between);
  add("fill_.Scalar", &fill);
  add("_local_scalar_dense", &read_number);
  dispatch::register_fallback(slot, {&run_on_cpu, nullptr}, "taeda/backends/cpu_fallback.cpp");
}

}  // namespace taeda::devices
