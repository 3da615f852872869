// Attention in one pass and its gradients as functions of core operators.
#include <algorithm>
#include <limits>

#include "taeda/ops/attention/functions.h"
#include "taeda/ops/attention/gradients.h"
#include "taeda/ops/attention/operators.h"
#include "taeda/ops/attention/scores.h"
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

// In contiguous memory, with its strides for dimensions of size one as well.
Tensor in_rows(const Tensor& t) {
  const bool is_plain =
      t.is_contiguous() && t.sym_strides() == SymIntList(contiguous_strides(t.sym_sizes()));
  return is_plain ? t : t.clone(MemoryFormat::Contiguous);
}

// `t` with its dimensions in memory as those of `like`.
Tensor in_memory_as(const Tensor& t, const Tensor& like) {
  const SymIntVec strides = strides_like(like, MemoryFormat::Preserve);
  IntVec order, back(static_cast<size_t>(t.dim()), 0);
  for (int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = i;
  return taeda::permute(in_rows(taeda::permute(t, IntList(order))), IntList(back));
}

Tensor heads_inside(const Tensor& t) { return in_rows(t.transpose(1, 2)).transpose(1, 2); }

}  // namespace

TAEDA_DECOMPOSITION(_scaled_dot_product_flash_attention_for_cpu,
                    (const Tensor& query, const Tensor& key, const Tensor& value, double,
                     bool is_causal, const Tensor& attn_mask, std::optional<double> scale)) {
  const attention::Scores s(query, key, value, is_causal, attn_mask, scale);
  const Tensor output = s.weights.matmul(s.value).to(query.dtype());
  // Queries that see no key have the sum 1, with a negative zero as its logarithm.
  const int64_t dims[] = {-1};
  const Tensor sums = s.scaled.logsumexp(IntList(dims));
  const Tensor logsumexp =
      sums.masked_fill(sums.eq(Scalar(-std::numeric_limits<double>::infinity())), Scalar(-0.0));
  return {in_memory_as(output, query), heads_inside(logsumexp)};
}

TAEDA_DECOMPOSITION(_scaled_dot_product_flash_attention_for_cpu_backward,
                    (const Tensor& grad_out, const Tensor& query, const Tensor& key,
                     const Tensor& value, const Tensor& out, const Tensor& logsumexp, double,
                     bool is_causal, const Tensor& attn_mask, std::optional<double> scale)) {
  const attention::Scores s(query, key, value, is_causal, attn_mask, scale);
  const DType wide = s.query.dtype();
  const Tensor grad = grad_out.to(wide);
  const Tensor weights = taeda::exp(s.scaled - logsumexp.to(wide).unsqueeze(-1));
  const int64_t dims[] = {-1};
  const Tensor share = ops::sum_dim_IntList(grad * out.to(wide), IntList(dims), true, {});
  const Tensor change = weights * (grad.matmul(s.value.transpose(-2, -1)) - share) * s.scale;
  const auto finished = [](const Tensor& made, const Tensor& given) {
    return heads_inside(gradients::sum_heads(made, given));
  };
  return {finished(change.matmul(s.key), query),
          finished(change.transpose(-2, -1).matmul(s.query), key),
          finished(weights.transpose(-2, -1).matmul(grad), value)};
}

}  // namespace taeda
