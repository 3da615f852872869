// The common part of the rule and the kernels of cat.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/core/unbacked.h"

namespace taeda {

// An empty vector joins tensors of any shape and takes no part. One whose size only data tells
// takes part.
inline bool is_skipped_in_cat(const Tensor& t) {
  return t.dim() == 1 && is_known(SymOp::Eq, t.sym_sizes()[0], 0);
}

}  // namespace taeda
