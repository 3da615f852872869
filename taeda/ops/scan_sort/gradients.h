// Derivative helpers of running sums and products and of sorting.
#pragma once

#include "taeda/ops/reduction/gradients.h"

namespace taeda::gradients {

// The running sum from the other end.
TAEDA_API Tensor cumsum_backward(const Tensor& grad, int64_t dim, DType dtype);
// `is_differentiable`: the gradient may be differentiated again.
TAEDA_API Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                  const Tensor& result, bool is_differentiable);

TAEDA_API Tensor cumprod_forward(const Tensor& self, const Tensor& tangent, int64_t dim,
                                 const Tensor& result);

}  // namespace taeda::gradients
