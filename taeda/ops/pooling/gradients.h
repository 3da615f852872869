// Derivative helpers of pooling.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/ops/pooling/windows.h"

namespace taeda::gradients {

// The elements that `indices` name in each plane of the last `spatial` dimensions.
TAEDA_API Tensor picked_from_planes(const Tensor& t, const Tensor& indices, int64_t spatial);

}  // namespace taeda::gradients
