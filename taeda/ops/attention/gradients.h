// Derivative helpers of attention.
#pragma once

#include <optional>
#include <tuple>

#include "taeda/core/tensor.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/gradients.h"

namespace taeda::gradients {

// One kernel, or operators where the gradients will be differentiated again. The logarithms of the
// sums pass no gradient on.
TAEDA_API std::tuple<Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& output, const Tensor& logsumexp, double dropout_p, bool is_causal,
    const Tensor& attn_mask, std::optional<double> scale, bool is_recorded);

// The gradient of repeated heads for those that were given, in their dtype.
Tensor sum_heads(const Tensor& grad, const Tensor& given);

// ---- forward mode ----
TAEDA_API Tensor attention_forward(const Tensor& query, const Tensor& query_tangent,
                                   const Tensor& key, const Tensor& key_tangent,
                                   const Tensor& value, const Tensor& value_tangent, bool is_causal,
                                   const Tensor& attn_mask, std::optional<double> scale);

}  // namespace taeda::gradients
