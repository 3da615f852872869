// Derivative helpers of complex numbers made of parts.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The part of the gradient that belongs to one part of the number, summed to its size.
TAEDA_API Tensor real_part_to(const Tensor& grad, SymIntList sizes);
TAEDA_API Tensor imag_part_to(const Tensor& grad, SymIntList sizes);

}  // namespace taeda::gradients
