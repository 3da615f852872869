// Names of kernels in messages.
#pragma once

#include <string>
#include <string_view>

#include "taeda/base/str.h"
#include "taeda/core/device.h"

namespace taeda {

// PyTorch's kernels have their device in the name: "sum_cpu", "sum_cuda".
inline std::string kernel_name(std::string_view stem, Device device) {
  return str(stem, "_", device_type_name(device.type));
}

}  // namespace taeda
