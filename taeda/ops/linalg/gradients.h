// Derivative helpers of matrix products.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// grad * conj(s), the gradient itself when s is one.
TAEDA_API Tensor scaled(const Tensor& grad, const Scalar& s);
// Summed over the batches along which an operand was broadcast; for a matrix the sum is part of one
// product.
TAEDA_API Tensor batched_self_backward(const Tensor& grad, const Tensor& other,
                                       SymIntList self_sizes);
TAEDA_API Tensor batched_other_backward(const Tensor& grad, const Tensor& self,
                                        SymIntList other_sizes);
TAEDA_API Tensor linear_input_backward(const Tensor& grad, const Tensor& weight);
TAEDA_API Tensor linear_weight_backward(const Tensor& grad, const Tensor& input,
                                        int64_t weight_dim);

}  // namespace taeda::gradients
