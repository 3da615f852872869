// Dimensions counted from the end.
#pragma once

#include "ATen/core_names.h"

namespace at {
inline int64_t maybe_wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true) {
  return ::taeda::wrap_dim(dim, ndim, wrap_scalar);
}
}  // namespace at
