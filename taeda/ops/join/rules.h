// The common part of the rule and the kernels of cat.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// An empty vector joins tensors of any shape and takes no part.
inline bool is_skipped_in_cat(const Tensor& t) {
  return t.dim() == 1 && t.sym_sizes()[0] == SymInt(0);
}

}  // namespace taeda
