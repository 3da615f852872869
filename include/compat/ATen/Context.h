// Which devices a program may use.
#pragma once

#include "taeda/backends/device_registry.h"

namespace at {
inline bool hasCUDA() {
  ::taeda::devices::load_devices_from_environment();
  const auto* runtime = ::taeda::devices::find_runtime(::taeda::DeviceType::CUDA);
  return runtime && runtime->device_count() > 0;
}
inline bool hasMPS() { return false; }
inline bool hasHIP() { return false; }
inline bool hasXPU() { return false; }
}  // namespace at
