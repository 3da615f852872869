// torch::cuda: whether there is a device, and how many.
#pragma once

#include "taeda/backends/device_registry.h"
#include "torch/types.h"

namespace torch::cuda {

inline size_t device_count() {
  ::taeda::devices::load_devices_from_environment();
  const auto* runtime = ::taeda::devices::find_runtime(::taeda::DeviceType::CUDA);
  return runtime ? static_cast<size_t>(runtime->device_count()) : 0;
}
inline bool is_available() { return device_count() > 0; }
inline bool cudnn_is_available() { return false; }

}  // namespace torch::cuda
