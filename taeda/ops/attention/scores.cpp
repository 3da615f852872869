// The scaled and masked products of queries and keys, made of other operators.
#include "taeda/ops/attention/scores.h"

#include <limits>

#include "taeda/ops/attention/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::attention {

Scalar scale_of(const Tensor& query, std::optional<double> scale) {
  return scale ? Scalar(*scale) : Scalar(query.sym_size(-1)).root().reciprocal();
}

Tensor additive_mask(const Tensor& mask, DType dtype) {
  if (!mask.defined() || mask.dtype() != DType::Bool) return mask;
  const Scalar unseen(-std::numeric_limits<double>::infinity());
  return taeda::zeros_like(mask, dtype).masked_fill(mask.logical_not(), unseen);
}

Tensor causal_mask(const SymInt& queries, const SymInt& keys, Device device) {
  return taeda::ones({queries, keys}, DType::Bool, {}, device).tril();
}

void repeat_heads(const Tensor& query, Tensor& key, Tensor& value) {
  TAEDA_CHECK(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3,
              "grouped query attention needs a dimension of heads, got query ", query.sym_sizes(),
              ", key ", key.sym_sizes(), " and value ", value.sym_sizes());
  const SymInt heads = query.sym_size(-3);
  TAEDA_CHECK(heads % key.sym_size(-3) == SymInt(0) && heads % value.sym_size(-3) == SymInt(0),
              "Number of heads in key and value must divide the number of heads in query");
  const auto repeat = [&](const Tensor& t) {
    const SymInt times = heads / t.sym_size(-3);
    if (times == SymInt(1)) return t;
    SymIntVec wide(t.sym_sizes()), sizes(t.sym_sizes());
    const size_t at = wide.size() - 3;
    sizes[at] = heads;
    wide.push_back(wide.back());
    wide[at + 2] = wide[at + 1];
    wide[at + 1] = times;
    return t.unsqueeze(-3).expand(SymIntList(wide)).reshape(SymIntList(sizes));
  };
  key = repeat(key);
  value = repeat(value);
}

Scores::Scores(const Tensor& q, const Tensor& k, const Tensor& v, bool is_causal,
               const Tensor& mask, std::optional<double> given)
    : scale(scale_of(q, given)) {
  const DType wide = is_reduced_float(q.dtype()) ? DType::Float : q.dtype();
  query = q.to(wide);
  key = k.to(wide);
  value = v.to(wide);
  repeat_heads(query, key, value);
  scaled = query.matmul(key.transpose(-2, -1)).mul(scale);
  if (mask.defined()) scaled = scaled.add(additive_mask(mask, wide)).to(wide);
  if (is_causal)
    scaled =
        scaled.add(additive_mask(causal_mask(q.sym_size(-2), k.sym_size(-2), q.device()), wide));
  weights = taeda::_safe_softmax(scaled, -1);
}

}  // namespace taeda::attention
