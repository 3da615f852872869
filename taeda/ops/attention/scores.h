// The parts that the composed form of attention and its derivatives share.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda::attention {

// The factor of products of queries and keys: the one given, or one over the root of the width.
Scalar scale_of(const Tensor& query, std::optional<double> scale);
// A mask of truth values as numbers to be added, 0 where a key takes part and -inf where not; any
// other mask as it is.
Tensor additive_mask(const Tensor& mask, DType dtype);
// Which of `keys` keys each of `queries` queries sees: no later one.
Tensor causal_mask(const SymInt& queries, const SymInt& keys, Device device);
// Repeats the heads of key and value, each beside itself, to as many as the query has.
void repeat_heads(const Tensor& query, Tensor& key, Tensor& value);

// The weights that queries give to keys, as a function of both, in a type wide enough; heads of
// keys and values are repeated.
struct Scores {
  Tensor query, key, value, scaled, weights;
  Scalar scale;
  Scores(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal,
         const Tensor& mask, std::optional<double> scale);
};

}  // namespace taeda::attention
