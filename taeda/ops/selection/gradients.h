// Derivative helpers of extremes and limits.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// The gradient where `self` is the larger of the two (its share of the smaller, if so asked), half
// of it at ties.
TAEDA_API Tensor larger_share(const Tensor& grad, const Tensor& self, const Tensor& other,
                              bool of_smaller = false);

TAEDA_API Tensor clamp_backward(const Tensor& grad, const Tensor& self,
                                const std::optional<Scalar>& min, const std::optional<Scalar>& max);
TAEDA_API Tensor clamp_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                                const Tensor& max);
TAEDA_API Tensor clamp_min_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                                    const Tensor& max);
TAEDA_API Tensor clamp_max_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                                    const Tensor& max);

}  // namespace taeda::gradients
