// Derivative helpers of reductions.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// A reduced tensor with its reduced dimensions back as ones.
TAEDA_API Tensor restore_reduced(const Tensor& reduced, int64_t ndim, std::optional<IntList> dim,
                                 bool keepdim);
// Spread over the reduced dimensions.
TAEDA_API Tensor expand_reduced(const Tensor& grad, SymIntList sizes, std::optional<IntList> dim,
                                bool keepdim);
TAEDA_API Tensor reduced_sum_backward(const Tensor& grad, SymIntList sizes, DType dtype,
                                      std::optional<IntList> dim, bool keepdim);
TAEDA_API Tensor mean_backward(const Tensor& grad, SymIntList sizes, DType dtype,
                               std::optional<IntList> dim, bool keepdim);
// The product of everything before each element along `dim`: 1, x0, x0 x1, ...
TAEDA_API Tensor exclusive_cumprod(const Tensor& x, int64_t dim);
// Products without each element in turn, where some are zero.
TAEDA_API Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
TAEDA_API Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                   int64_t dim, bool keepdim);
// Evenly to all elements that have the extreme value.
TAEDA_API Tensor share_among_equal(const Tensor& grad, const Tensor& self, const Tensor& result,
                                   IntList dim, bool keepdim);
// To the elements that were selected along `dim`.
TAEDA_API Tensor value_selecting_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                          const Tensor& indices, bool keepdim);
TAEDA_API Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                    IntList dim, bool keepdim);

// ---- forward mode ----
TAEDA_API Tensor extreme_forward(const Tensor& self, const Tensor& tangent, const Tensor& result,
                                 IntList dim, bool keepdim);
// The tangents of the elements that were selected along `dim`.
TAEDA_API Tensor selected_forward(const Tensor& tangent, int64_t dim, const Tensor& indices,
                                  bool keepdim);
TAEDA_API Tensor logsumexp_forward(const Tensor& self, const Tensor& tangent, const Tensor& result,
                                   IntList dim, bool keepdim);

}  // namespace taeda::gradients
