// Derivative helpers of advanced indexing, masks and take.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Zeros of `sizes` with the gradient added where the indices point.
TAEDA_API Tensor index_backward(const Tensor& grad, SymIntList sizes, TensorList indices);
TAEDA_API Tensor index_put_self_backward(const Tensor& grad, TensorList indices, bool accumulate);
TAEDA_API Tensor index_put_values_backward(const Tensor& grad, TensorList indices,
                                           SymIntList sizes);
TAEDA_API Tensor take_backward(const Tensor& grad, SymIntList sizes, const Tensor& index);
TAEDA_API Tensor masked_select_backward(const Tensor& grad, SymIntList sizes, const Tensor& mask);

}  // namespace taeda::gradients
