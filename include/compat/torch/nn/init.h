// torch::nn::init.
#pragma once

#include "taeda/nn/init.h"
#include "torch/types.h"

namespace taeda::nn::init {

// The name that PyTorch's header has.
inline std::pair<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  return calculate_fan_in_and_fan_out(tensor);
}

}  // namespace taeda::nn::init
