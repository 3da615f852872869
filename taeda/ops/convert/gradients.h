// Derivative helpers of copies and conversions.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The gradient of a copied source: summed over broadcast dimensions, in the source's dtype and
// device.
TAEDA_API Tensor copy_backward(const Tensor& grad, SymIntList sizes, DType dtype, Device device);

}  // namespace taeda::gradients
