// The thread's autocast state, the cast cache and the casts.
#include "taeda/autograd/autocast.h"

#include <array>
#include <unordered_map>

#include "taeda/autograd/variable.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"

namespace taeda::autocast {

namespace {

struct State {
  std::array<bool, kNumDeviceTypes> enabled{};
  std::array<DType, kNumDeviceTypes> dtypes;
  int depth = 0;
  bool is_cache_enabled = true;

  State() {
    dtypes.fill(DType::Half);
    dtypes[static_cast<size_t>(DeviceType::CPU)] = DType::BFloat16;
  }
};
State& state() {
  thread_local State s;
  return s;
}

struct CachedCast {
  Tensor source;  // keeps the address in the key from being used again
  uint32_t version;
  Tensor cast;
};
std::unordered_map<const TensorImpl*, CachedCast>& cache() {
  thread_local std::unordered_map<const TensorImpl*, CachedCast> casts;
  return casts;
}

void check_available(DeviceType device) {
  TAEDA_CHECK(is_available(device), "unknown device type for autocast: got ",
              device_type_name(device), ", which has no lower precision of its own");
}

// A weight: cast once per region.
bool is_cacheable(DType to, const Tensor& t, DeviceType device) {
  return state().is_cache_enabled && t.dtype() == DType::Float && to == dtype_of(device) &&
         t.impl()->requires_grad_flag() && !t.is_view() && autograd::is_leaf(t) &&
         !is_inference_mode();
}

Tensor cast_of_weight(DType to, const Tensor& t) {
  auto [place, is_new] = cache().try_emplace(t.impl());
  CachedCast& entry = place->second;
  if (is_new || entry.version != t.version() || entry.cast.dtype() != to) {
    autograd::EnableGrad recorded;
    entry = {t, t.version(), t.to(to)};
  }
  return entry.cast;
}

// The device of the first tensor: of a fake one, that which it stands for.
DeviceType shown_device(const dispatch::Stack& stack) {
  DeviceType device = DeviceType::Meta;
  for (const dispatch::Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      if (device == DeviceType::Meta && t.defined()) device = t.device().type;
    });
  return device;
}

// Operators with an Autocast kernel for other devices alone: on fake tensors that of the device
// they stand for runs, elsewhere none.
void run_without_kernel(const dispatch::Operator& op, KeySet keys, dispatch::Stack& stack, void*) {
  auto& callee = const_cast<dispatch::Operator&>(op);
  const DeviceType device = shown_device(stack);
  if (keys.backend() == DeviceType::Meta && is_enabled(device)) {
    const int slot = slot_of(Key::Autocast, device);
    if (dispatch::has_registered_kernel(op, slot)) {
      const dispatch::BoxedKernel kernel = dispatch::current_kernel(callee, slot);
      return kernel.fn(op, keys, stack, kernel.context);
    }
  }
  callee.call_boxed(callee, keys & KeySet::below(Key::Autocast), stack);
}

const bool is_fallback_registered =
    (dispatch::set_builtin_fallback(Key::Autocast, {&run_without_kernel, nullptr},
                                    "autocast of another device"),
     true);

}  // namespace

bool is_enabled(DeviceType device) {
  return has_backend(device) && state().enabled[static_cast<size_t>(device)];
}

void set_enabled(DeviceType device, bool on) {
  check_available(device);
  State& s = state();
  s.enabled[static_cast<size_t>(device)] = on;
  bool is_any_enabled = false;
  for (bool enabled : s.enabled) is_any_enabled |= enabled;
  KeySet& include = local_keys().include;
  include = is_any_enabled ? include | KeySet(Key::Autocast) : include - KeySet(Key::Autocast);
}

DType dtype_of(DeviceType device) {
  return has_backend(device) ? state().dtypes[static_cast<size_t>(device)] : DType::Half;
}
void set_dtype(DeviceType device, DType dtype) {
  check_available(device);
  state().dtypes[static_cast<size_t>(device)] = dtype;
}
bool is_cache_enabled() { return state().is_cache_enabled; }
void set_cache_enabled(bool on) { state().is_cache_enabled = on; }
void clear_cache() { cache().clear(); }
int enter_region() { return ++state().depth; }
int leave_region() { return --state().depth; }
int region_depth() { return state().depth; }

Region::Region(DeviceType device, bool enabled)
    : Region(device, dtype_of(device), enabled, autocast::is_cache_enabled()) {}

Region::Region(DeviceType device, DType dtype, bool enabled, bool cache_enabled)
    : device_(device),
      saved_dtype_(dtype_of(device)),
      saved_enabled_(is_enabled(device)),
      saved_cache_(autocast::is_cache_enabled()) {
  set_enabled(device, enabled);
  set_dtype(device, dtype);
  set_cache_enabled(cache_enabled);
  enter_region();
}

Region::~Region() {
  if (leave_region() == 0) clear_cache();
  set_enabled(device_, saved_enabled_);
  set_dtype(device_, saved_dtype_);
  set_cache_enabled(saved_cache_);
}

Tensor cached_cast(DType to, const Tensor& t, DeviceType device) {
  if (!is_eligible(t, device) || t.dtype() == to) return t;
  return is_cacheable(to, t, device) ? cast_of_weight(to, t) : t.to(to);
}

std::vector<Tensor> cached_cast(DType to, TensorList list, DeviceType device) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(cached_cast(to, t, device));
  return out;
}

DType wider(DType so_far, const Tensor& t, DeviceType device) {
  if (!is_eligible(t, device) || t.dtype() == so_far) return so_far;
  const DType lower = dtype_of(device);
  const bool is_known = t.dtype() == DType::Float || t.dtype() == lower;
  TAEDA_CHECK(is_known, "Unexpected floating ScalarType in at::autocast::prioritize: got ",
              t.dtype(), ", expected ", lower, " or ", DType::Float);
  return DType::Float;
}

}  // namespace taeda::autocast
