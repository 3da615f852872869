// Making tensors and aliases, and other functions that need no operator.
#include "taeda/core/tensor.h"

#include <array>

#include "taeda/core/unbacked.h"

namespace taeda {
namespace {

constinit std::array<std::atomic<Allocator*>, kNumDeviceTypes> allocators{};
constinit std::atomic<void (*)()> device_loader{nullptr};
thread_local bool inference_mode TAEDA_STATIC_TLS = false;
thread_local int allocating_index TAEDA_STATIC_TLS = -1;

void check_sizes(IntList sizes) {
  for (int64_t s : sizes)
    TAEDA_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
}

// PyTorch's phrase for a device it was built without; others have none in common.
std::string not_compiled(DeviceType type) {
  if (type == DeviceType::CUDA) return "Torch not compiled with CUDA enabled: ";
  if (type == DeviceType::XPU) return "Torch not compiled with XPU enabled: ";
  return {};
}

Storage make_device_storage(size_t nbytes, Device device) {
  Allocator* allocator = device_allocator(device.type);
  if (!allocator) {
    if (auto* load = device_loader.load()) load();
    allocator = device_allocator(device.type);
  }
  if (!allocator) {
    const std::string phrase = not_compiled(device.type);
    fail(phrase.empty() ? ErrorKind::Runtime : ErrorKind::Assertion, phrase,
         "no device is registered for '", device,
         "'; name a device plug-in in TAEDA_DEVICES, or use cpu or meta");
  }
  if (device.index < 0) device.index = 0;
  struct Scope {
    explicit Scope(int index) { allocating_index = index; }
    ~Scope() { allocating_index = -1; }
  } scope(device.index);
  return make_intrusive<StorageImpl>(nbytes, device, allocator);
}

Storage make_storage(size_t nbytes, Device device) {
  return device.is_cpu() || device.is_meta()
             ? make_intrusive<StorageImpl>(nbytes, device, device_allocator(device.type))
             : make_device_storage(nbytes, device);
}

}  // namespace

bool is_inference_mode() { return inference_mode; }
void set_inference_mode(bool on) {
  inference_mode = on;
  const KeySet tracking(Key::ADInplaceOrView);
  KeySet& included = local_keys().include;
  included = on ? included - tracking : included | tracking;
}

void set_device_allocator(DeviceType type, Allocator* allocator) {
  allocators[static_cast<int>(type)].store(allocator);
}
void set_device_loader(void (*loader)()) { device_loader.store(loader); }
int allocating_device_index() { return allocating_index; }
Allocator* device_allocator(DeviceType type) {
  if (__builtin_expect(!has_backend(type), 0)) return nullptr;
  std::atomic<Allocator*>& slot = allocators[static_cast<int>(type)];
  Allocator* a = slot.load(std::memory_order_relaxed);
  if (__builtin_expect(!a && type == DeviceType::CPU, 0)) {
    // Unless somebody sets another one meanwhile.
    if (slot.compare_exchange_strong(a, &cpu_allocator())) a = &cpu_allocator();
  }
  return a;
}

KeySet dense_keys(Device device) {
  const KeySet keys = KeySet(Key::Dense) | KeySet(device.type);
  return inference_mode ? keys : keys | KeySet(Key::ADInplaceOrView);
}

int64_t wrap_dim(int64_t d, int64_t ndim, bool wrap_scalar) {
  const int64_t range = ndim == 0 && wrap_scalar ? 1 : ndim;
  TAEDA_CHECK_INDEX(range > 0, "Dimension specified as ", d, " but tensor has no dimensions");
  TAEDA_CHECK_INDEX(d >= -range && d < range,
                    "Dimension out of range (expected to be in range of [", -range, ", ", range - 1,
                    "], but got ", d, ")");
  return d < 0 ? d + range : d;
}

int64_t Tensor::size(int64_t d) const {
  return sym_sizes()[wrap_dim(d, dim(), false)].expect_int();
}
int64_t Tensor::stride(int64_t d) const {
  return sym_strides()[wrap_dim(d, dim(), false)].expect_int();
}
SymInt Tensor::sym_size(int64_t d) const { return sym_sizes()[wrap_dim(d, dim(), false)]; }

void Tensor::fail_undefined() {
  fail(
      ErrorKind::Runtime,
      "Expected a proper Tensor but got None (or an undefined Tensor in C++): ask defined() first");
}

namespace {

bool is_zero(int64_t a) { return a == 0; }
bool is_zero(const SymInt& a) { return is_known(SymOp::Eq, a, 0); }
bool is_at_least(int64_t a, int64_t b) { return a >= b; }
bool is_at_least(const SymInt& a, const SymInt& b) { return is_known(SymOp::Ge, a, b); }

// Whether channels are innermost and batches outermost, with or without gaps. Tensors whose strides
// tell no format, as those of one element per plane and those that only data tells, are contiguous
// ones.
template <class T>
bool is_strided_channels_last(Span<T> sizes, Span<T> strides) {
  if (is_zero(strides[1])) return false;
  T least = 0;
  const auto follows = [&](size_t d) {
    const bool is_next = !is_zero(sizes[d]) && is_at_least(strides[d], least);
    if (is_next) least = strides[d] * sizes[d];
    return is_next;
  };
  if (!follows(1)) return false;
  for (size_t d = sizes.size(); d-- > 2;)
    if (!follows(d)) return false;
  return !is_zero(least - strides[1]) && follows(0);
}

}  // namespace

MemoryFormat Tensor::suggested_format() const {
  if (dim() != 4 && dim() != 5) return MemoryFormat::Contiguous;
  const bool is_format = impl()->has_symbolic_sizes()
                             ? is_strided_channels_last(sym_sizes(), sym_strides())
                             : is_strided_channels_last(sizes(), strides());
  if (!is_format) return MemoryFormat::Contiguous;
  return dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

int64_t storage_bytes(IntList sizes, IntList strides, int64_t offset, DType dtype) {
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach;
    TAEDA_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                    !__builtin_add_overflow(last, reach, &last),
                "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  }
  int64_t bytes;
  TAEDA_CHECK(!__builtin_add_overflow(last, 1, &last) &&
                  !__builtin_mul_overflow(last, item_size(dtype), &bytes),
              "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  return bytes;
}

namespace {

// Without elements; its strides may overflow all the same.
Tensor make_tensor_of_none(IntList sizes, DType dtype, Device device) {
  auto impl = make_intrusive<TensorImpl>(make_storage(0, device), dtype, dense_keys(device));
  impl->set_sizes_contiguous(sizes);
  return Tensor(std::move(impl));
}

}  // namespace

Tensor make_tensor(IntList sizes, DType dtype, Device device) {
  int64_t bytes = item_size(dtype);
  bool overflow = false, is_empty = false, is_negative = false;
  for (int64_t s : sizes) {
    is_negative |= s < 0;
    is_empty |= s == 0;
    // Of two numbers below 2^31 the product needs no check, which is slow.
    if (__builtin_expect(((bytes | s) >> 31) == 0, 1))
      bytes *= s;
    else
      overflow |= __builtin_mul_overflow(bytes, s, &bytes);
  }
  if (__builtin_expect(is_negative, 0)) check_sizes(sizes);
  if (__builtin_expect(is_empty, 0)) return make_tensor_of_none(sizes, dtype, device);
  TAEDA_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes);
  return Tensor(make_intrusive<TensorImpl>(make_storage(static_cast<size_t>(bytes), device), dtype,
                                           dense_keys(device), sizes));
}

Tensor make_tensor_like(const Tensor& plain) {
  const TensorImpl& like = *plain.impl();
  const auto bytes = static_cast<size_t>(like.numel() * item_size(like.dtype()));
  const Device device = like.device();
  if (__builtin_expect(bytes == 0, 0))
    return make_tensor_of_none(like.sizes(), like.dtype(), device);
  // The CPU's branch of make_storage in line: a call of it is seen in the time of a small operator.
  Storage storage = __builtin_expect(device.is_cpu(), 1)
                        ? make_intrusive<StorageImpl>(bytes, device, device_allocator(device.type))
                        : make_storage(bytes, device);
  return Tensor(make_intrusive<TensorImpl>(std::move(storage), dense_keys(device), like));
}

Tensor make_tensor_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  check_sizes(sizes);
  TAEDA_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
              ") must match dimensionality of strides (", strides.size(), ")");
  for (int64_t s : strides)
    TAEDA_CHECK(s >= 0, "empty_strided: strides must be non-negative, got ", strides);
  const auto bytes = static_cast<size_t>(storage_bytes(sizes, strides, 0, dtype));
  auto impl = make_intrusive<TensorImpl>(make_storage(bytes, device), dtype, dense_keys(device));
  impl->set_geometry(sizes, strides, 0);
  return Tensor(std::move(impl));
}

namespace {

Tensor share_storage(const Tensor& self) {
  // Keys that describe the values are copied; keys that track the tensor are not.
  constexpr KeySet kept = KeySet::backends() | KeySet(Key::Dense) | KeySet(Key::Conjugate) |
                          KeySet(Key::Negative) | KeySet(Key::ADInplaceOrView) | KeySet(Key::Fake) |
                          KeySet(Key::Functionalize);
  auto impl = make_intrusive<TensorImpl>(self.storage(), self.dtype(), self.keys() & kept);
  if (const TensorExtra* x = self.impl()->extra_or_null();
      x && (x->fake_device || x->version || x->counts_no_writes)) {
    impl->extra().fake_device = x->fake_device;
    // Aliases of an inference tensor count no writes, even if the tensor itself does.
    if (!self.is_inference()) impl->extra().version = x->version;
    impl->extra().counts_no_writes = x->counts_no_writes;
    if (self.keys().has(Key::Fake)) impl->extra().wrapper = x->wrapper;
  }
  return Tensor(std::move(impl));
}

}  // namespace

Tensor make_alias(const Tensor& self, IntList sizes, IntList strides, int64_t offset) {
  Tensor t = share_storage(self);
  t.impl()->set_geometry(sizes, strides, offset);
  return t;
}

Tensor make_alias_sym(const Tensor& self, SymIntList sizes, SymIntList strides, SymInt offset) {
  Tensor t = share_storage(self);
  t.impl()->set_sym_geometry(sizes, strides, std::move(offset));
  return t;
}

Tensor scalar_tensor_of(const Scalar& s, DType dtype, Device device) {
  Tensor t = make_tensor({}, dtype, device);
  if (device.is_cpu())
    visit_dtype(dtype,
                [&](auto tag) { *static_cast<decltype(tag)*>(t.data()) = s.to<decltype(tag)>(); });
  return t;
}

Tensor wrapped_scalar(const Scalar& s) {
  if (s.is_symbolic()) {
    Tensor t = make_tensor({}, s.dtype(), DeviceType::Meta);
    t.impl()->set_wrapped_number(true);
    t.impl()->extra().wrapper = IntrusivePtr<RefCounted>::share(s.node());
    return t;
  }
  Tensor t = scalar_tensor_of(s, s.dtype(), DeviceType::CPU);
  t.impl()->set_wrapped_number(true);
  return t;
}

Scalar read_scalar(const Tensor& t) {
  if (t.impl()->is_wrapped_number() && t.is_meta())
    return Scalar(IntrusivePtr<SymNode>::share(
        static_cast<SymNode*>(t.impl()->extra_or_null()->wrapper.get())));
  TAEDA_CHECK(t.numel() == 1, "a Tensor with ", t.numel(),
              " elements cannot be converted to Scalar");
  TAEDA_INTERNAL_CHECK(!t.keys().has(Key::TransformBack), "read_scalar of a wrapper");
  TAEDA_CHECK(t.is_cpu(), "read_scalar needs a CPU tensor, got ", t.device());
  TAEDA_CHECK(t.storage()->data(),
              "Cannot access data pointer of Tensor that doesn't have storage");
  return visit_dtype(t.dtype(), [&](auto tag) -> Scalar {
    using T = decltype(tag);
    const T v = *static_cast<const T*>(t.data());
    if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>) {
      Complex<double> c(v);
      if (t.is_conj()) c = c.conj();
      return Scalar(t.is_neg() ? -c : c);
    } else if constexpr (std::is_same_v<T, bool>) {
      return Scalar(v);
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<T, uint64_t>)
        return Scalar(v);
      else
        return Scalar(static_cast<int64_t>(v));
    } else {
      const double d = static_cast<double>(v);
      return Scalar(t.is_neg() ? -d : d);
    }
  });
}

}  // namespace taeda
