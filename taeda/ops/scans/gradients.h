// Derivative helpers of running extremes and running sums of exponentials.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/ops/reduction/gradients.h"

namespace taeda::gradients {

TAEDA_API Tensor running_extreme_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                          const Tensor& indices);
TAEDA_API Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                       int64_t dim);
TAEDA_API Tensor logcumsumexp_forward(const Tensor& self, const Tensor& tangent, int64_t dim);

}  // namespace taeda::gradients
