// Derivative helpers of permutations.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The gradient with its dimensions back in the input's order.
TAEDA_API Tensor permute_backward(const Tensor& grad, IntList dims);

}  // namespace taeda::gradients
