// Derivative helpers of the arithmetic operators.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// grad * s, the gradient itself when s is one.
TAEDA_API Tensor mul_scalar(const Tensor& grad, const Scalar& s);
TAEDA_API Scalar one_minus(const Scalar& s);

TAEDA_API Tensor abs_forward(const Tensor& self, const Tensor& tangent);

}  // namespace taeda::gradients
