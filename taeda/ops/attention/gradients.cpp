// Derivative helpers of attention.
#include "taeda/ops/attention/gradients.h"

#include "taeda/ops/attention/functions.h"
#include "taeda/ops/attention/scores.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

Tensor transposed_matrix(const Tensor& t) { return t.transpose(-2, -1); }

// The derivative of a softmax over keys, which is its own transpose.
Tensor through_weights(const Tensor& weights, const Tensor& change) {
  const int64_t dims[] = {-1};
  const Tensor product = weights.mul(change);
  return product.sub(weights.mul(product.sum(IntList(dims), /*keepdim=*/true)));
}

}  // namespace

Tensor sum_heads(const Tensor& grad, const Tensor& given) {
  if (grad.sym_size(1) == given.sym_size(1)) return cast_gradient(grad, given.dtype());
  const int64_t dims[] = {2};
  const SymInt shared = given.sym_size(1), times = grad.sym_size(1) / shared;
  const Tensor groups =
      grad.reshape({grad.sym_size(0), shared, times, grad.sym_size(2), grad.sym_size(3)});
  return cast_gradient(groups.sum(IntList(dims)), given.dtype());
}

std::tuple<Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& output, const Tensor& logsumexp, double dropout_p, bool is_causal,
    const Tensor& attn_mask, std::optional<double> scale, bool is_recorded) {
  if (!grad.defined()) return {};
  if (!is_recorded)
    return taeda::_scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale);
  const attention::Scores s(query, key, value, is_causal, attn_mask, scale);
  const Tensor g = grad.to(s.query.dtype());
  const Tensor change =
      through_weights(s.weights, g.matmul(transposed_matrix(s.value))).mul(s.scale);
  return {cast_gradient(change.matmul(s.key), query.dtype()),
          sum_heads(transposed_matrix(change).matmul(s.query), key),
          sum_heads(transposed_matrix(s.weights).matmul(g), value)};
}

Tensor attention_forward(const Tensor& query, const Tensor& query_tangent, const Tensor& key,
                         const Tensor& key_tangent, const Tensor& value,
                         const Tensor& value_tangent, bool is_causal, const Tensor& attn_mask,
                         std::optional<double> scale) {
  const attention::Scores s(query, key, value, is_causal, attn_mask, scale);
  const DType wide = s.query.dtype();
  Tensor q = query_tangent.to(wide), k = key_tangent.to(wide), v = value_tangent.to(wide);
  attention::repeat_heads(s.query, k, v);
  const Tensor change =
      q.matmul(transposed_matrix(s.key)).add(s.query.matmul(transposed_matrix(k))).mul(s.scale);
  return through_weights(s.weights, change)
      .matmul(s.value)
      .add(s.weights.matmul(v))
      .to(query.dtype());
}

}  // namespace taeda::gradients
