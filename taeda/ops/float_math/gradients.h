// Derivative helpers of signs, angles and parts of numbers.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
// The gradient of the mantissa; forward mode is the same.
TAEDA_API Tensor frexp_backward(const Tensor& grad, const Tensor& exponent);
TAEDA_API Tensor sinc_backward(const Tensor& grad, const Tensor& self);
TAEDA_API Tensor angle_backward(const Tensor& grad, const Tensor& self);
TAEDA_API Tensor angle_forward(const Tensor& tangent, const Tensor& self, const Tensor& result);
TAEDA_API Tensor polar_backward_abs(const Tensor& grad, const Tensor& result);
TAEDA_API Tensor polar_backward_angle(const Tensor& grad, const Tensor& result);
TAEDA_API Tensor polar_forward(const Tensor& abs_tangent, const Tensor& angle_tangent,
                               const Tensor& angle, const Tensor& result);
TAEDA_API Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps);

}  // namespace taeda::gradients
