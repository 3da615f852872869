// Attention with several heads.
#pragma once

#include "taeda/nn/functional/attention.h"
#include "taeda/nn/modules/linear.h"

namespace taeda::nn {

// Inputs are (length, batch, features); the results are the output and the weights.
class TAEDA_API MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(Tensor())}, {4, AnyValue(true)},
                                 {5, AnyValue(Tensor())}, {6, AnyValue(true)})

  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  void reset() override;
  void _reset_parameters();
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {},
                                     bool average_attn_weights = true);

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = true;
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj = nullptr;
  Tensor bias_k, bias_v;
  int64_t head_dim = 0;
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
};
TAEDA_MODULE(MultiheadAttention);

}  // namespace taeda::nn
