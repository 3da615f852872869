// Derivative helpers of signs.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Derivative of z / |z|; zero at zero.
TAEDA_API Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

TAEDA_API Tensor sgn_forward(const Tensor& self, const Tensor& tangent, const Tensor& result);

}  // namespace taeda::gradients
