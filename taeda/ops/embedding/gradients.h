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

// ---- bags ----
TAEDA_API Tensor embedding_bag_weight_backward(
    const Tensor& grad, const Tensor& indices, const Tensor& offsets, const Tensor& offset2bag,
    const Tensor& bag_size, const Tensor& maximum_indices, const SymInt& num_weights,
    bool scale_grad_by_freq, int64_t mode, bool sparse, const Tensor& per_sample_weights,
    int64_t padding_idx);
TAEDA_API Tensor embedding_bag_sample_backward(const Tensor& grad, const Tensor& weight,
                                               const Tensor& indices, const Tensor& offsets,
                                               const Tensor& offset2bag, int64_t mode,
                                               int64_t padding_idx);
TAEDA_API Tensor embedding_bag_forward(const Tensor& weight, const Tensor& weight_tangent,
                                       const Tensor& indices, const Tensor& per_sample_weights,
                                       const Tensor& sample_tangent, const Tensor& offset2bag,
                                       const Tensor& bag_size, const Tensor& maximum_indices,
                                       int64_t mode, int64_t padding_idx);
// The gradients of _embedding_bag_dense_backward.
TAEDA_API Tensor embedding_bag_dense_double_backward(
    const Tensor& grad_table, const Tensor& indices, const Tensor& offset2bag,
    const Tensor& bag_size, const Tensor& maximum_indices, bool scale_grad_by_freq, int64_t mode,
    const Tensor& per_sample_weights, int64_t padding_idx);
TAEDA_API Tensor embedding_bag_sample_double_backward(const Tensor& grad_table, const Tensor& grad,
                                                      const Tensor& indices,
                                                      const Tensor& offset2bag,
                                                      bool scale_grad_by_freq, int64_t padding_idx);
TAEDA_API Tensor embedding_bag_dense_forward(const Tensor& grad, const Tensor& grad_tangent,
                                             const Tensor& indices, const Tensor& offset2bag,
                                             const Tensor& bag_size, const Tensor& maximum_indices,
                                             const SymInt& num_weights, bool scale_grad_by_freq,
                                             int64_t mode, const Tensor& per_sample_weights,
                                             const Tensor& sample_tangent, int64_t padding_idx);
// Rows of the table times a number per index, added up per bag; and rows per bag, added up per row
// of the table.
TAEDA_API Tensor embedding_bag_bags_of(const Tensor& numbers, const Tensor& table,
                                       const Tensor& indices, const Tensor& offset2bag,
                                       const SymInt& bags, int64_t padding_idx);
TAEDA_API Tensor embedding_bag_rows_of(const Tensor& numbers, const Tensor& per_bag,
                                       const Tensor& indices, const Tensor& offset2bag,
                                       const SymInt& rows, int64_t padding_idx);

}  // namespace taeda::gradients
