// Advanced indexing on the CPU: index tensors and masks become one byte offset a position.
#pragma once

#include <vector>

#include "taeda/ops/indexing/index_shape.h"

namespace taeda::cpu {

struct IndexPlan {
  IndexShape shape;
  std::vector<int64_t>
      offsets;  // into the indexed tensor, positions of the index's shape in logical order
};
// Checks every index; IndexError "index 5 is out of bounds for dimension 0 with size 3". Some index
// is defined.
IndexPlan plan_indices(const Tensor& self, TensorList indices);

// index * step for each value of an int64 tensor, negative ones wrapped around `size`; already
// checked.
std::vector<int64_t> wrapped_offsets(const Tensor& index, int64_t size, int64_t step);

}  // namespace taeda::cpu
