// Batching rule of attention: the batch joins that of the operator.
#include "taeda/ops/attention/batching.h"
#include "taeda/ops/attention/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {

std::tuple<Batched, Batched> _scaled_dot_product_flash_attention_for_cpu(
    const Batched& query, const Batched& key, const Batched& value, double dropout_p,
    bool is_causal, const Batched& attn_mask, std::optional<double> scale) {
  const SymInt& size = batch_context().size;
  const auto joined = [&](const Batched& t) { return t.front_expanded(size).flatten(0, 1); };
  const Tensor q = joined(query);
  const SymInt examples = q.sym_size(0) / size;
  // A mask per example becomes one per example and batch.
  Tensor mask = attn_mask.value;
  if (attn_mask.is_batched() || (mask.defined() && mask.dim() == 4)) {
    mask = attn_mask.front_expanded(size);
    while (mask.dim() < 5) mask = mask.unsqueeze(1);
    SymIntVec sizes(mask.sym_sizes());
    sizes[1] = examples;
    mask = mask.expand(SymIntList(sizes)).flatten(0, 1);
  }
  const auto [output, logsumexp] = taeda::_scaled_dot_product_flash_attention_for_cpu(
      q, joined(key), joined(value), dropout_p, is_causal, mask, scale);
  const auto apart = [&](const Tensor& t) {
    SymIntVec sizes{size, examples};
    for (int64_t d = 1; d < t.dim(); ++d) sizes.push_back(t.sym_size(d));
    return Batched(t.reshape(SymIntList(sizes)), 0);
  };
  return {apart(output), apart(logsumexp)};
}

}  // namespace taeda::batch
