// Derivative helpers of copies in another order.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The sum over the repetitions.
TAEDA_API Tensor repeat_backward(const Tensor& grad, SymIntList self_sizes, SymIntList repeats);
TAEDA_API Tensor roll_backward(const Tensor& grad, SymIntList shifts, IntList dims);

}  // namespace taeda::gradients
