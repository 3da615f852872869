// Attention with several heads: projections, masks and heads around the attention operators.
#include "taeda/nn/functional/attention.h"

#include <cmath>

#include "taeda/nn/functional/attention_masks.h"
#include "taeda/nn/functional/attention_projection.h"
#include "taeda/nn/functional/shape_text.h"
#include "taeda/ops/attention/functions.h"
#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::nn::functional {
namespace attention {

bool check_shapes(const Tensor& query, const Tensor& key, const Tensor& value,
                  const Tensor& key_padding_mask, const Tensor& attn_mask, int64_t num_heads) {
  const int64_t ndim = query.dim();
  TAEDA_CHECK_KIND(ErrorKind::Assertion, ndim == 2 || ndim == 3,
                   "query should be unbatched 2D or batched 3D tensor but received ", ndim,
                   "-D query tensor");
  const bool is_batched = ndim == 3;
  const char* kind = is_batched ? "For batched (3-D) `query`, expected "
                                : "For unbatched (2-D) `query`, expected ";
  TAEDA_CHECK_KIND(ErrorKind::Assertion, key.dim() == ndim && value.dim() == ndim, kind,
                   "`key` and `value` to be ", ndim, "-D but found ", key.dim(), "-D and ",
                   value.dim(), "-D tensors respectively");
  TAEDA_CHECK_KIND(ErrorKind::Assertion,
                   !key_padding_mask.defined() || key_padding_mask.dim() == ndim - 1, kind,
                   "`key_padding_mask` to be `None` or ", ndim - 1, "-D but found ",
                   key_padding_mask.dim(), "-D tensor instead");
  if (!attn_mask.defined()) return is_batched;
  TAEDA_CHECK_KIND(ErrorKind::Assertion, attn_mask.dim() == 2 || attn_mask.dim() == 3, kind,
                   "`attn_mask` to be `None`, 2-D or 3-D but found ", attn_mask.dim(),
                   "-D tensor instead");
  if (is_batched || attn_mask.dim() == 2) return is_batched;
  const SymInt expected[] = {SymInt(num_heads), query.sym_size(0), key.sym_size(0)};
  TAEDA_CHECK_KIND(ErrorKind::Assertion, attn_mask.sym_sizes() == SymIntList(expected),
                   "Expected `attn_mask` shape to be ", tuple_text(expected), " but got ",
                   size_text(attn_mask.sym_sizes()));
  return is_batched;
}

}  // namespace attention

namespace {

using Options = MultiheadAttentionForwardFuncOptions;
using attention::Three;

// What a call works with; the functions below fill and change it in order.
struct Call {
  Three inputs;          // query, key and value
  Tensor padding, mask;  // numbers, or undefined
  bool is_causal;
  SymInt batch, length;
  int64_t heads, head_dim;

  SymInt all_heads() const { return batch * SymInt(heads); }
};

// The masks as numbers. The attention operator makes the causal mask itself where it can.
void read_masks(Call& call, const Options& options) {
  const Tensor& mask = options.attn_mask();
  const DType dtype = call.inputs[0].dtype();
  const std::optional<DType> other = mask.defined() ? std::optional(mask.dtype()) : std::nullopt;
  call.padding =
      attention::canonical_mask(call.padding, "key_padding_mask", other, "attn_mask", dtype);
  TAEDA_CHECK(!options.is_causal() || mask.defined(),
              "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
              "method `generate_square_subsequent_mask` to create this mask.");
  call.is_causal = options.is_causal() && !call.padding.defined();
  if (call.is_causal && !options.need_weights()) return;
  call.mask = attention::canonical_mask(mask, "attn_mask", std::nullopt, "", dtype);
}

// The number of features of a head, after the checks of sizes.
int64_t checked_head_dim(const Call& call, const Options& options) {
  const auto& [query, key, value] = call.inputs;
  const int64_t features = options.embed_dim_to_check(), heads = options.num_heads();
  TAEDA_CHECK_KIND(ErrorKind::Assertion, query.sym_size(2) == SymInt(features),
                   "was expecting embedding dimension of ", features, ", but got ",
                   query.sym_size(2));
  TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, heads != 0, "integer division or modulo by zero");
  TAEDA_CHECK_KIND(ErrorKind::Assertion, features % heads == 0, "embed_dim ", features,
                   " not divisible by num_heads ", heads);
  const SymIntList keys = key.sym_sizes(), values = value.sym_sizes();
  if (options.use_separate_proj_weight()) {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, keys.slice(0, 2) == values.slice(0, 2),
                     "key's sequence and batch dims ", size_text(keys.slice(0, 2)),
                     " do not match value's ", size_text(values.slice(0, 2)));
  } else {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, keys == values, "key shape ", size_text(keys),
                     " does not match value shape ", size_text(values));
  }
  return features / heads;
}

Three projected(const Three& inputs, const Options& options) {
  if (!options.use_separate_proj_weight()) {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, options.in_proj_weight().defined(),
                     "use_separate_proj_weight is False but in_proj_weight is None");
    return attention::in_projection_packed(inputs, options.in_proj_weight(),
                                           options.in_proj_bias());
  }
  const Three weights{options.q_proj_weight(), options.k_proj_weight(), options.v_proj_weight()};
  for (size_t i = 0; i < weights.size(); ++i) {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, weights[i].defined(),
                     "use_separate_proj_weight is True but ", "qkv"[i], "_proj_weight is None");
  }
  return attention::in_projection(inputs, weights, attention::bias_parts(options.in_proj_bias()));
}

void widen_masks(Call& call) {
  call.mask = attention::one_wider(call.mask);
  call.padding = attention::one_wider(call.padding);
}

// One more key and value that are learnt.
void add_biases(Call& call, const Options& options) {
  const Tensor &k = options.bias_k(), &v = options.bias_v();
  TAEDA_CHECK_KIND(ErrorKind::Assertion, !k.defined() || v.defined(),
                   "bias_k is set but bias_v is None");
  TAEDA_CHECK_KIND(ErrorKind::Assertion, k.defined() || !v.defined(),
                   "bias_v is set but bias_k is None");
  if (!k.defined()) return;
  TAEDA_CHECK_KIND(ErrorKind::Assertion, !options.static_k().defined(),
                   "bias cannot be added to static key.");
  TAEDA_CHECK_KIND(ErrorKind::Assertion, !options.static_v().defined(),
                   "bias cannot be added to static value.");
  const SymInt times[] = {SymInt(1), call.batch, SymInt(1)};
  call.inputs[1] = taeda::cat({call.inputs[1], k.repeat(SymIntList(times))});
  call.inputs[2] = taeda::cat({call.inputs[2], v.repeat(SymIntList(times))});
  widen_masks(call);
}

// (all heads, length, head_dim) of a projection.
Tensor by_head(const Call& call, const Tensor& tensor) {
  return tensor.view({tensor.sym_size(0), call.all_heads(), SymInt(call.head_dim)}).transpose(0, 1);
}

// The same of a tensor that was given in this form.
Tensor checked_static(const Call& call, const Tensor& given, const char* name) {
  const SymInt expected[] = {call.all_heads(), SymInt(call.head_dim)};
  for (int64_t i = 0; i < 2; ++i) {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, given.sym_size(2 * i) == expected[i], "expecting ", name,
                     ".size(", 2 * i, ") of ", expected[i], ", but got ", given.sym_size(2 * i));
  }
  return given;
}

void split_heads(Call& call, const Options& options) {
  auto& [query, key, value] = call.inputs;
  const Tensor &k = options.static_k(), &v = options.static_v();
  query = by_head(call, query);
  key = k.defined() ? checked_static(call, k, "static_k") : by_head(call, key);
  value = v.defined() ? checked_static(call, v, "static_v") : by_head(call, value);
}

// One more key and value of zeros.
void add_zeros(Call& call) {
  for (Tensor* part : {&call.inputs[1], &call.inputs[2]}) {
    const Tensor zeros = part->new_zeros({call.all_heads(), SymInt(1), SymInt(call.head_dim)});
    *part = taeda::cat({*part, zeros}, 1);
  }
  widen_masks(call);
}

// (length, all heads, head_dim) and the weights of all heads.
std::tuple<Tensor, Tensor> with_weights(const Call& call, double dropout_p) {
  const auto& [query, key, value] = call.inputs;
  TAEDA_CHECK_KIND(ErrorKind::Assertion, !call.is_causal || call.mask.defined(),
                   "FIXME: is_causal not implemented for need_weights");
  const Tensor scaled = query.mul(Scalar(std::sqrt(1.0 / static_cast<double>(call.head_dim))));
  const Tensor turned = key.transpose(-2, -1);
  const Tensor scores =
      call.mask.defined() ? taeda::baddbmm(call.mask, scaled, turned) : taeda::bmm(scaled, turned);
  Tensor weights = taeda::softmax(scores, -1);
  if (dropout_p > 0) weights = taeda::dropout(weights, dropout_p, true);
  return {taeda::bmm(weights, value).transpose(0, 1), weights};
}

// (length, batch, heads, head_dim) of the operator that keeps no weights.
Tensor without_weights(const Call& call, double dropout_p) {
  const auto in_batches = [&](const Tensor& t) {
    return t.view({call.batch, SymInt(call.heads), t.sym_size(1), t.sym_size(2)});
  };
  Tensor mask = call.mask;
  if (mask.defined()) {
    mask = mask.sym_size(0) == SymInt(1) ? mask.unsqueeze(0) : in_batches(mask);
  }
  const auto& [query, key, value] = call.inputs;
  const int64_t order[] = {2, 0, 1, 3};
  return taeda::scaled_dot_product_attention(in_batches(query), in_batches(key), in_batches(value),
                                             mask, dropout_p, call.is_causal)
      .permute(IntList(order));
}

// (length, batch, features): the last projection.
Tensor joined_heads(const Call& call, const Tensor& output, const Options& options) {
  const SymInt features(options.embed_dim_to_check());
  const Tensor projected = taeda::linear(output.reshape({call.length * call.batch, features}),
                                         options.out_proj_weight(), options.out_proj_bias());
  return projected.view({call.length, call.batch, projected.sym_size(1)});
}

// The weights of (batch, queries, keys), of each head or their mean.
Tensor shaped_weights(const Call& call, const Tensor& weights, bool is_mean) {
  const Tensor apart =
      weights.view({call.batch, SymInt(call.heads), call.length, weights.sym_size(2)});
  const int64_t heads[] = {1};
  return is_mean ? apart.mean(IntList(heads)) : apart;
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key,
                                                        const Tensor& value,
                                                        const Options& options) {
  const bool is_batched = attention::check_shapes(query, key, value, options.key_padding_mask(),
                                                  options.attn_mask(), options.num_heads());
  const auto batched = [&](const Tensor& t, int64_t dim) {
    return is_batched || !t.defined() ? t : t.unsqueeze(dim);
  };
  Call call;
  call.inputs = {batched(query, 1), batched(key, 1), batched(value, 1)};
  call.padding = batched(options.key_padding_mask(), 0);
  read_masks(call, options);
  call.heads = options.num_heads();
  call.head_dim = checked_head_dim(call, options);
  call.length = call.inputs[0].sym_size(0);
  call.batch = call.inputs[0].sym_size(1);
  const SymInt keys = call.inputs[1].sym_size(0);
  call.inputs = projected(call.inputs, options);
  call.mask = attention::mask_of_scores(call.mask, call.all_heads(), call.length, keys);
  add_biases(call, options);
  split_heads(call, options);
  if (options.add_zero_attn()) add_zeros(call);
  call.mask = attention::joined_mask(call.mask, call.padding, call.batch, call.heads,
                                     call.inputs[1].sym_size(1));
  const double dropout_p = options.training() ? options.dropout_p() : 0;
  Tensor output, weights;
  if (options.need_weights()) {
    std::tie(output, weights) = with_weights(call, dropout_p);
    weights = shaped_weights(call, weights, options.average_attn_weights());
    if (!is_batched) weights = weights.squeeze(0);
  } else {
    output = without_weights(call, dropout_p);
  }
  output = joined_heads(call, output, options);
  return {is_batched ? output : output.squeeze(1), weights};
}

}  // namespace taeda::nn::functional
