// Computing in a type wide enough, and rounding once. Pointwise bodies do this in one pass;
// decompositions, made of several operators, have to say it.
#pragma once

#include <initializer_list>

#include "taeda/core/tensor.h"

namespace taeda {

// The types of one call: `Wide w({&a, &b}); return w.rounded(w(a) * w(b));`
class TAEDA_API Wide {
 public:
  enum class Rule : uint8_t { Promote, Float };  // Float: integers become the default float

  explicit Wide(std::initializer_list<const Tensor*> inputs, Rule rule = Rule::Promote);

  DType result() const { return result_; }
  // Float for 16-bit results, else the result's own.
  DType compute() const { return compute_; }
  // An input converted to the wide type; numbers that only follow other dtypes stay unchanged.
  Tensor operator()(const Tensor& t) const;
  Tensor rounded(const Tensor& t) const { return rounded(t, result_); }
  Tensor rounded(const Tensor& t, DType to) const;

 private:
  DType result_, compute_;
};

}  // namespace taeda
