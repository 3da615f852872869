// Autocast: inside a region, operators run in the dtype that suits them, whatever their inputs are.
//
// An operator's record names its class (`autocast = ...`), from which an Autocast kernel is
// generated: it casts the eligible tensors and calls the operator again below the key. A region is
// state of the thread: the key is in the thread's included keys while some device type is enabled,
// so that calls outside regions pay nothing.
//
// Note [Autocast cache]: float32 leaves that require grad (weights) are cast to the lower precision
// once per region and the casts are kept until the outermost region ends. A kept cast is recorded
// even inside no_grad, so that it serves calls that record; a leaf written to since is cast anew.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::autocast {

// ---- the thread's state ----
// Whether the device type has autocast at all: it has a backend, and is neither Meta nor Lazy.
constexpr bool is_available(DeviceType device) {
  return has_backend(device) && device != DeviceType::Meta && device != DeviceType::Lazy;
}
TAEDA_API bool is_enabled(DeviceType device);
TAEDA_API void set_enabled(DeviceType device, bool on);
// The lower precision: bfloat16 on the CPU, float16 elsewhere, unless set.
TAEDA_API DType dtype_of(DeviceType device);
TAEDA_API void set_dtype(DeviceType device, DType dtype);
TAEDA_API bool is_cache_enabled();
TAEDA_API void set_cache_enabled(bool on);
TAEDA_API void clear_cache();
// Regions the thread is in, after the call; whoever leaves the last one clears the cache.
TAEDA_API int enter_region();
TAEDA_API int leave_region();
TAEDA_API int region_depth();

// A region: everything the constructor sets is set back at the end of the scope.
class TAEDA_API Region {
 public:
  explicit Region(DeviceType device, bool enabled = true);
  Region(DeviceType device, DType dtype, bool enabled = true, bool cache_enabled = true);
  ~Region();
  Region(const Region&) = delete;

 private:
  DeviceType device_;
  DType saved_dtype_;
  bool saved_enabled_, saved_cache_;
};

// ---- functions for generated kernels ----
inline DeviceType shown_device(const Tensor& t) {
  return t.defined() ? DeviceType(t.device().type) : DeviceType::Meta;
}
inline DeviceType shown_device(TensorList list) {
  return list.empty() ? DeviceType::Meta : shown_device(list[0]);
}
// The device type whose region applies: of fake tensors, the one that they stand for.
template <class... Tensors>
DeviceType device_of(KeySet keys, const Tensors&... tensors) {
  DeviceType device = keys.backend();
  ((device = device == DeviceType::Meta ? shown_device(tensors) : device), ...);
  return device;
}

// Tensors that are cast: floating point on this device type, float64 excepted.
inline bool is_eligible(const Tensor& t, DeviceType device) {
  return t.defined() && is_floating(t.dtype()) && t.dtype() != DType::Double &&
         t.device().type == device;
}
// The tensor in `to` if it is eligible, else as it is.
TAEDA_API Tensor cached_cast(DType to, const Tensor& t, DeviceType device);
TAEDA_API std::vector<Tensor> cached_cast(DType to, TensorList list, DeviceType device);

// float32 if an eligible tensor has it, else the lower precision; throws PyTorch's error for
// another floating point dtype.
TAEDA_API DType wider(DType so_far, const Tensor& t, DeviceType device);
inline DType wider(DType so_far, TensorList list, DeviceType device) {
  for (const Tensor& t : list) so_far = wider(so_far, t, device);
  return so_far;
}
template <class... Tensors>
DType widest(DeviceType device, const Tensors&... tensors) {
  DType result = dtype_of(device);
  ((result = wider(result, tensors, device)), ...);
  return result;
}

}  // namespace taeda::autocast
