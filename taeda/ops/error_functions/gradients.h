// Derivatives of the normal distribution's functions.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

inline constexpr double kErfSlopeAtZero = 1.12837916709551257390;  // 2 / sqrt(pi)

TAEDA_API Tensor log_ndtr_backward(const Tensor& grad, const Tensor& self);
TAEDA_API Tensor ndtri_backward(const Tensor& grad, const Tensor& result);

}  // namespace taeda::gradients
