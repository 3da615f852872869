// Derivative helpers of sums that leave NaN out.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor nansum_backward(const Tensor& grad, const Tensor& self, std::optional<IntList> dim,
                                 bool keepdim);
TAEDA_API Tensor nansum_forward(const Tensor& self, const Tensor& tangent,
                                std::optional<IntList> dim, bool keepdim,
                                std::optional<DType> dtype);

}  // namespace taeda::gradients
