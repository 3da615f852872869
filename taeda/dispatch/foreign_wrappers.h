// Wrappers of levels that were taken off, where a function that is called without them meets one.
#pragma once

#include <functional>

#include "taeda/core/tensor.h"

namespace taeda::dispatch {

// Until the end of the scope, operators of this thread get `replacement(t)` for each argument that
// is a wrapper of a level which was on before the scope and is off (BelowLevel). Functions of
// control flow become graphs that way: what they take from around them is replaced by an input.
class TAEDA_API ReplaceForeign {
 public:
  using Replacement = std::function<Tensor(const Tensor&)>;

  explicit ReplaceForeign(Replacement replacement);
  ~ReplaceForeign();
  ReplaceForeign(const ReplaceForeign&) = delete;

  Tensor operator()(const Tensor& t) const;

 private:
  Replacement replacement_;
  uint64_t first_own_;  // numbers of levels grow
  const ReplaceForeign* saved_;
};

}  // namespace taeda::dispatch
