// Derivative helpers of operators that index one dimension with a vector.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor index_select_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                       const Tensor& index);
// The slices of the gradient that went into the source, in the source's shape.
TAEDA_API Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                                       SymIntList sizes);
// The sum of the gradient over the filled slices, each once however often the index names it.
TAEDA_API Tensor index_fill_value_backward(const Tensor& grad, int64_t dim, const Tensor& index);

}  // namespace taeda::gradients
