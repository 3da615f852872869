// Options of attention with several heads.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/arg.h"

namespace taeda::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TAEDA_ARG(int64_t, embed_dim);
  TAEDA_ARG(int64_t, num_heads);
  TAEDA_ARG(double, dropout) = 0.0;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(bool, add_bias_kv) = false;
  TAEDA_ARG(bool, add_zero_attn) = false;
  TAEDA_ARG(int64_t, kdim);
  TAEDA_ARG(int64_t, vdim);
};

namespace functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads,
                                       Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
                                       Tensor bias_v, bool add_zero_attn, double dropout_p,
                                       Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  TAEDA_ARG(int64_t, embed_dim_to_check);
  TAEDA_ARG(int64_t, num_heads);
  TAEDA_ARG(Tensor, in_proj_weight);
  TAEDA_ARG(Tensor, in_proj_bias);
  TAEDA_ARG(Tensor, bias_k);
  TAEDA_ARG(Tensor, bias_v);
  TAEDA_ARG(bool, add_zero_attn);
  TAEDA_ARG(double, dropout_p);
  TAEDA_ARG(Tensor, out_proj_weight);
  TAEDA_ARG(Tensor, out_proj_bias);
  TAEDA_ARG(bool, training) = true;
  TAEDA_ARG(Tensor, key_padding_mask) = {};
  TAEDA_ARG(bool, need_weights) = true;
  TAEDA_ARG(Tensor, attn_mask) = {};
  TAEDA_ARG(bool, use_separate_proj_weight) = false;
  TAEDA_ARG(Tensor, q_proj_weight) = {};
  TAEDA_ARG(Tensor, k_proj_weight) = {};
  TAEDA_ARG(Tensor, v_proj_weight) = {};
  TAEDA_ARG(Tensor, static_k) = {};
  TAEDA_ARG(Tensor, static_v) = {};
  TAEDA_ARG(bool, average_attn_weights) = true;
  TAEDA_ARG(bool, is_causal) = false;
};

}  // namespace functional
}  // namespace taeda::nn
