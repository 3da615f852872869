// Derivative helpers of embedding.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor embedding_backward(const Tensor& grad, const Tensor& indices,
                                    const SymInt& num_weights, const SymInt& padding_idx,
                                    bool scale_grad_by_freq, bool sparse);
// The gradient of embedding_dense_backward: the rows again, scaled as they were, none for the
// padding.
TAEDA_API Tensor embedding_dense_double_backward(const Tensor& grad, const Tensor& indices,
                                                 const SymInt& padding_idx,
                                                 bool scale_grad_by_freq);

}  // namespace taeda::gradients
