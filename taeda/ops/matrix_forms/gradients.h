// Derivative helpers of outer products, cross products and traces.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor addr_self_backward(const Tensor& grad, const Scalar& beta, SymIntList sizes);
TAEDA_API Tensor addr_vec1_backward(const Tensor& grad, const Tensor& vec2, const Scalar& alpha);
TAEDA_API Tensor addr_vec2_backward(const Tensor& grad, const Tensor& vec1, const Scalar& alpha);
TAEDA_API Tensor addr_forward(const Tensor& self_tangent, const Tensor& vec1,
                              const Tensor& vec1_tangent, const Tensor& vec2,
                              const Tensor& vec2_tangent, const Scalar& beta, const Scalar& alpha);
TAEDA_API Tensor linalg_cross_backward(const Tensor& left, const Tensor& right, SymIntList sizes,
                                       int64_t dim);
TAEDA_API Tensor trace_backward(const Tensor& grad, SymIntList sizes);

}  // namespace taeda::gradients
