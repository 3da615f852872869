// The iteration space of a launch: sizes, and the strides of every operand in it.
#pragma once

#include <vector>

#include "taeda/backends/lowered/launch.h"
#include "taeda/core/tensor.h"

namespace taeda::lowered {

// Strides of a tensor in a shape that it broadcasts to, in elements.
IntVec broadcast_strides(const Tensor& t, IntList sizes);

// Sizes with the strides of some tensors; dimensions of one element left out, neighbours that all
// tensors walk as one merged.
struct Domain {
  IntVec sizes;
  std::vector<IntVec> strides;  // by tensor

  Domain(IntList sizes, std::vector<IntVec> strides) : sizes(sizes), strides(std::move(strides)) {}
  // Keeps the row-major order of the elements.
  void merge();
  // Puts the dimension in which the first tensor lies densest last, then merges.
  void arrange();
};

}  // namespace taeda::lowered
