// at::autocast: functions for kernels at the Autocast key.
#pragma once

#include "ATen/ATen.h"
#include "taeda/autograd/autocast.h"

namespace at::autocast {

// The device of an eligible tensor; PyTorch's default is the GPU.
inline DeviceType device_for(const Tensor& t, DeviceType otherwise) {
  return t.defined() && ::taeda::autocast::is_enabled(t.device().type()) ? t.device().type()
                                                                         : otherwise;
}

// The tensor in `to` where its device casts: floating point, not float64.
inline Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType device = kCUDA) {
  return ::taeda::autocast::cached_cast(to, t, device_for(t, device));
}
inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& t,
                                         DeviceType device = kCUDA) {
  return t ? std::optional<Tensor>(cached_cast(to, *t, device)) : std::nullopt;
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList list, DeviceType device = kCUDA) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(cached_cast(to, t, device));
  return out;
}

// The widest floating-point type among the eligible tensors, starting from a guess.
template <class... Tensors>
ScalarType promote_type(ScalarType guess, DeviceType device, const Tensors&... tensors) {
  ((guess = ::taeda::autocast::wider(guess, tensors, device_for(tensors, device))), ...);
  return guess;
}
template <class First, class... Tensors>
  requires(!std::convertible_to<const First&, DeviceType>)
ScalarType promote_type(ScalarType guess, const First& first, const Tensors&... tensors) {
  return promote_type(guess, kCUDA, first, tensors...);
}

inline bool is_autocast_enabled(DeviceType device = kCUDA) {
  return ::taeda::autocast::is_enabled(device);
}
inline ScalarType get_autocast_dtype(DeviceType device) {
  return ::taeda::autocast::dtype_of(device);
}

}  // namespace at::autocast
