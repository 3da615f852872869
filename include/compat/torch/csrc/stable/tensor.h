// torch::stable::Tensor: the tensor itself.
//
// PyTorch keeps these names binary compatible between its versions. Here they are other names of
// the same classes: sources that use them compile, and are built again with each version.
#pragma once

#include "torch/headeronly/core/ScalarType.h"

namespace torch::stable {
using Tensor = ::taeda::Tensor;
using Device = ::taeda::Device;
using DeviceIndex = int8_t;
using ::c10::DeviceType;
using ::c10::ScalarType;
}  // namespace torch::stable
