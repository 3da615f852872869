// Attention of several heads and the encoder layer around it, for evaluation: one product makes
// queries, keys and values, and attention reads them where they lie.
#include <cmath>

#include "taeda/ops/activation/functions.h"
#include "taeda/ops/attention/declarations.h"
#include "taeda/ops/attention/functions.h"
#include "taeda/ops/attention/scores.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::impl {
namespace {

// What the number of a mask says about its shape.
enum MaskType : int64_t { kScores = 0, kPadding = 1, kAll = 2 };

void check_multi_head(const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                      const Tensor& qkv_bias) {
  TAEDA_CHECK(query.dim() == 3, "expected 3-D `query`, got ", query.dim(), "-D tensor");
  TAEDA_CHECK(query.sym_size(2) == SymInt(embed_dim), "passed-in embed_dim ", embed_dim,
              " didn't match last dim of query ", query.sym_size(2));
  TAEDA_CHECK(key.dim() == 3, "expected 3-D `key`, got ", key.dim(), "-D tensor");
  TAEDA_CHECK(value.dim() == 3, "expected 3-D `value`, got ", value.dim(), "-D tensor");
  TAEDA_CHECK(query.sym_sizes() == key.sym_sizes() && key.sym_sizes() == value.sym_sizes(),
              "expected `query`/`key`/`value` shapes to match: got ", query.sym_sizes(), ", ",
              key.sym_sizes(), " and ", value.sym_sizes());
  TAEDA_CHECK(qkv_weight.dim() == 2, "expected 2-D `qkv_weight`, got ", qkv_weight.dim(),
              "-D tensor");
  const SymInt width(3 * embed_dim);
  TAEDA_CHECK(qkv_weight.sym_size(0) == width,
              "expected `qkv_weight` first dim to be 3x embed_dim: got ", qkv_weight.sym_size(0),
              ", expected ", width);
  TAEDA_CHECK(qkv_weight.sym_size(1) == SymInt(embed_dim),
              "expected `qkv_weight` second dim to be embed_Dim: got ", qkv_weight.sym_size(1),
              ", expected ", embed_dim);
  TAEDA_CHECK(qkv_bias.dim() == 1, "expected 1-D `qkv_bias`, got ", qkv_bias.dim(), "-D tensor");
  TAEDA_CHECK(qkv_bias.sym_size(0) == width,
              "expected `qkv_bias` first dim and first dim of query to be equal: got ",
              qkv_bias.sym_size(0), ", expected ", width);
  TAEDA_CHECK(num_head > 0 && embed_dim % num_head == 0,
              "`embed_dim` must divide evenly by `num_heads`: got ", embed_dim, " and ", num_head);
}

// (batch, length, heads * width) as (batch, heads, length, width), in the same memory.
Tensor as_heads(const Tensor& t, int64_t num_head) {
  const SymInt sizes[] = {SymInt(num_head), SymInt(-1)};
  return t.unflatten(-1, SymIntList(sizes)).transpose(1, 2);
}

// (batch, heads, length, width) as (batch, length, heads * width).
Tensor heads_joined(const Tensor& t) { return t.transpose(1, 2).flatten(-2, -1); }

struct Projected {
  Tensor query, key, value;
};

// Queries, keys and values of all heads. Inputs that are one tensor take one product.
Projected project(const Tensor& query, const Tensor& key, const Tensor& value, int64_t num_head,
                  const Tensor& weight, const Tensor& bias) {
  const SymInt width = query.sym_size(2);
  const auto part = [&](const Tensor& t, int64_t dim, int64_t at) {
    return t.narrow(dim, SymInt(at) * width, width);
  };
  if (query.is_same(key) && key.is_same(value)) {
    const Tensor packed = taeda::linear(query, weight, bias);
    return {as_heads(part(packed, -1, 0), num_head), as_heads(part(packed, -1, 1), num_head),
            as_heads(part(packed, -1, 2), num_head)};
  }
  const auto one = [&](const Tensor& t, int64_t at) {
    return as_heads(taeda::linear(t, part(weight, 0, at), part(bias, 0, at)), num_head);
  };
  return {one(query, 0), one(key, 1), one(value, 2)};
}

// A mask of any type as numbers that are added to scores of (batch, heads, queries, keys): truth
// values hide keys.
Tensor added_to_scores(const Tensor& mask, std::optional<int64_t> mask_type, const Tensor& query,
                       int64_t num_head) {
  if (!mask.defined()) return mask;
  TAEDA_CHECK(mask_type.has_value(), "Mask Type should be defined");
  TAEDA_CHECK(*mask_type == kScores || *mask_type == kPadding || *mask_type == kAll,
              "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)");
  const SymInt batch = query.sym_size(0), length = query.sym_size(1);
  const SymInt scores[] = {length, length}, padding[] = {batch, length},
               all[] = {batch, SymInt(num_head), length, length};
  TAEDA_CHECK(*mask_type != kScores || mask.sym_sizes() == SymIntList(scores),
              "For mask_type == 0 mask shape should be (L, L): got ", mask.sym_sizes());
  TAEDA_CHECK(*mask_type != kPadding || mask.sym_sizes() == SymIntList(padding),
              "For mask_type == 1 mask shape should be (B, L): got ", mask.sym_sizes());
  TAEDA_CHECK(*mask_type != kAll || mask.sym_sizes() == SymIntList(all),
              "For mask_type == 2 mask shape should match input shape: got ", mask.sym_sizes(),
              ", expected ", SymIntList(all));
  const Tensor seen = mask.dtype() == DType::Bool ? mask.logical_not() : mask;
  const Tensor added = attention::additive_mask(seen, query.dtype());
  return *mask_type == kPadding ? added.unsqueeze(1).unsqueeze(1) : added;
}

}  // namespace

std::tuple<Tensor, Tensor> _native_multi_head_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim,
    int64_t num_head, const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
    const Tensor& proj_bias, const Tensor& mask, bool need_weights, bool average_attn_weights,
    std::optional<int64_t> mask_type) {
  check_multi_head(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias);
  if (query.sym_numel() == SymInt(0)) return {taeda::empty_like(query), Tensor()};
  const Projected p = project(query, key, value, num_head, qkv_weight, qkv_bias);
  const Tensor added = added_to_scores(mask, mask_type, query, num_head);
  if (!need_weights) {
    const Tensor output = taeda::scaled_dot_product_attention(p.query, p.key, p.value, added);
    return {taeda::linear(heads_joined(output), proj_weight, proj_bias), Tensor()};
  }
  const Scalar scale = attention::scale_of(p.query, std::nullopt);
  Tensor weights = p.query.mul(scale).matmul(p.key.transpose(-2, -1));
  if (added.defined()) weights = weights.add(added);
  weights = taeda::softmax(weights, -1);
  const Tensor output =
      taeda::linear(heads_joined(weights.matmul(p.value)), proj_weight, proj_bias);
  const int64_t heads[] = {1};
  return {output, average_attn_weights ? weights.mean(IntList(heads)) : weights};
}

Tensor _transformer_encoder_layer_fwd(const Tensor& src, int64_t embed_dim, int64_t num_heads,
                                      const Tensor& qkv_weight, const Tensor& qkv_bias,
                                      const Tensor& proj_weight, const Tensor& proj_bias,
                                      bool use_gelu, bool norm_first, double eps,
                                      const Tensor& norm_weight_1, const Tensor& norm_bias_1,
                                      const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                                      const Tensor& ffn_weight_1, const Tensor& ffn_bias_1,
                                      const Tensor& ffn_weight_2, const Tensor& ffn_bias_2,
                                      const Tensor& mask, std::optional<int64_t> mask_type) {
  const SymInt features[] = {SymInt(embed_dim)};
  const auto normalized = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return taeda::layer_norm(x, SymIntList(features), weight, bias, eps);
  };
  const auto attended = [&](const Tensor& x) {
    return std::get<0>(taeda::_native_multi_head_attention(
        x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
        /*need_weights=*/false, /*average_attn_weights=*/true, mask_type));
  };
  const auto fed_forward = [&](const Tensor& x) {
    const Tensor hidden = taeda::linear(x, ffn_weight_1, ffn_bias_1);
    return taeda::linear(use_gelu ? taeda::gelu(hidden) : taeda::relu(hidden), ffn_weight_2,
                         ffn_bias_2);
  };
  if (norm_first) {
    const Tensor x = src.add(attended(normalized(src, norm_weight_1, norm_bias_1)));
    return x.add(fed_forward(normalized(x, norm_weight_2, norm_bias_2)));
  }
  const Tensor x = normalized(src.add(attended(src)), norm_weight_1, norm_bias_1);
  return normalized(x.add(fed_forward(x)), norm_weight_2, norm_bias_2);
}

}  // namespace taeda::impl
