// Derivative helpers of operators that return several views. Gradients of unused views are
// undefined.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor unbind_backward(Span<Tensor> grads, SymIntList self_sizes, int64_t dim);
TAEDA_API Tensor split_backward(Span<Tensor> grads, SymIntList self_sizes, const SymInt& split_size,
                                int64_t dim);
TAEDA_API Tensor split_with_sizes_backward(Span<Tensor> grads, SymIntList self_sizes,
                                           SymIntList split_sizes, int64_t dim);

}  // namespace taeda::gradients
