// Derivative helpers of elementary functions and powers.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLn10 = 2.30258509299404568402;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

// Derivatives of self^exponent; the derivative of x^0 is zero at zero too, and so is that of 0^y
// for y >= 0.
TAEDA_API Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent);
TAEDA_API Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
TAEDA_API Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self,
                                       const Tensor& exponent, const Tensor& result);
TAEDA_API Tensor pow_backward_base(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                                   const Tensor& result);

// Derivatives of the angle of (other, self); zero at the origin.
TAEDA_API Tensor atan2_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
TAEDA_API Tensor atan2_backward_other(const Tensor& grad, const Tensor& self, const Tensor& other);

}  // namespace taeda::gradients
