// out= of operators whose result PyTorch makes first and then copies.
#pragma once

#include "taeda/ops/spec.h"

namespace taeda {

// Whether the result has to be there before `out` is touched: `out` lies in the memory of an input,
// which is still read while the result is written, or the copy passes a gradient on to the input.
inline bool is_made_apart(const Tensor& out, const Tensor& input) {
  return input.defined() && (out.is_alias_of(input) || input.requires_grad());
}

}  // namespace taeda
