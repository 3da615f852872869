// Derivative helpers of random numbers.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor zeros_of(const Tensor& grad, SymIntList sizes);

}  // namespace taeda::gradients
