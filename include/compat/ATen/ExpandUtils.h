// The sizes to which tensors are broadcast.
#pragma once

#include <vector>

#include "ATen/DimVector.h"
#include "taeda/ops/shape.h"

namespace at {
inline SymDimVector infer_size_symdimvector(c10::SymIntArrayRef a, c10::SymIntArrayRef b) {
  return ::taeda::broadcast_shapes(a, b);
}
inline std::vector<int64_t> infer_size(c10::IntArrayRef a, c10::IntArrayRef b) {
  std::vector<int64_t> sizes;
  for (const auto& size :
       infer_size_symdimvector(SymDimVector(a.begin(), a.end()), SymDimVector(b.begin(), b.end())))
    sizes.push_back(size.expect_int());
  return sizes;
}
}  // namespace at
