// Derivative helpers of joins.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// One gradient a joined tensor, in its dtype.
TAEDA_API std::vector<Tensor> cat_backward(const Tensor& grad,
                                           const std::vector<std::vector<SymInt>>& sizes,
                                           const std::vector<DType>& dtypes, int64_t dim);
TAEDA_API std::vector<Tensor> stack_backward(const Tensor& grad, const std::vector<DType>& dtypes,
                                             int64_t dim);

}  // namespace taeda::gradients
