// Derivative helpers of gamma, Bessel and entropy functions.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

inline constexpr double kNormalDensityPeak = 0.39894228040143267794;  // 1 / sqrt(2 pi)

TAEDA_API Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p);
// Of the lower function by its second argument; the upper one has the negative.
TAEDA_API Tensor igamma_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
TAEDA_API Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
TAEDA_API Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
TAEDA_API Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
TAEDA_API Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other);
TAEDA_API Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other);
TAEDA_API Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other);

}  // namespace taeda::gradients
