// Attention with several heads.
#include "taeda/nn/modules/attention.h"

#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options)
    : Cloneable(layer_namespace() + "MultiheadAttention"), options(options) {
  MultiheadAttentionImpl::reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t size = options.embed_dim();
  _qkv_same_embed_dim = options.kdim() == size && options.vdim() == size;
  head_dim = size / options.num_heads();
  TAEDA_CHECK(head_dim * options.num_heads() == size, "embed_dim must be divisible by num_heads");
  const auto matrix = [](bool exists, int64_t rows, int64_t columns) {
    return exists ? taeda::empty({SymInt(rows), SymInt(columns)}) : Tensor();
  };
  const bool are_three = !_qkv_same_embed_dim;
  in_proj_weight = register_parameter("in_proj_weight", matrix(!are_three, 3 * size, size));
  q_proj_weight = register_parameter("q_proj_weight", matrix(are_three, size, size));
  k_proj_weight = register_parameter("k_proj_weight", matrix(are_three, size, options.kdim()));
  v_proj_weight = register_parameter("v_proj_weight", matrix(are_three, size, options.vdim()));
  in_proj_bias = register_parameter("in_proj_bias",
                                    options.bias() ? taeda::empty({SymInt(3 * size)}) : Tensor());
  out_proj = register_module("out_proj", Linear(LinearOptions(size, size).bias(options.bias())));
  const auto row = [&] {
    return options.add_bias_kv() ? taeda::empty({SymInt(1), SymInt(1), SymInt(size)}) : Tensor();
  };
  bias_k = register_parameter("bias_k", row());
  bias_v = register_parameter("bias_v", row());
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight}) {
    if (weight.defined()) init::xavier_uniform_(weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  for (const Tensor& bias : {bias_k, bias_v}) {
    if (bias.defined()) init::xavier_normal_(bias);
  }
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask,
    bool need_weights, const Tensor& attn_mask, bool average_attn_weights) {
  return functional::multi_head_attention_forward(
      query, key, value,
      functional::MultiheadAttentionForwardFuncOptions(
          options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k, bias_v,
          options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias)
          .training(is_training())
          .key_padding_mask(key_padding_mask)
          .need_weights(need_weights)
          .attn_mask(attn_mask)
          .use_separate_proj_weight(!_qkv_same_embed_dim)
          .q_proj_weight(q_proj_weight)
          .k_proj_weight(k_proj_weight)
          .v_proj_weight(v_proj_weight)
          .average_attn_weights(average_attn_weights));
}

}  // namespace taeda::nn
