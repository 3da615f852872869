// Which device a tensor is on, for guards.
#pragma once

#include "ATen/core_names.h"

// Beside the tensor's own type, where unqualified calls find them; at sees them too.
namespace taeda {
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}
inline std::optional<Device> device_of(const std::optional<Tensor>& t) {
  return t ? device_of(*t) : std::nullopt;
}
inline std::optional<Device> device_of(TensorList list) {
  return list.empty() ? std::nullopt : device_of(list.front());
}
}  // namespace taeda
