// Every element of operands that broadcast to one shape, for operators without a body.
#pragma once

#include <algorithm>

#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {

// f(pointers) for every element of the nest, rows of its innermost dimension in parallel.
// `cost` is about the elements of simple arithmetic that one is worth to a thread.
template <class F>
void for_elements(const LoopNest& nest, int64_t cost, F&& f) {
  if (nest.numel == 0) return;
  const int64_t inner = nest.sizes[0], rows = nest.numel / inner;
  const int64_t grain = std::max<int64_t>(1, 32768 / (inner * cost));
  parallel_for(0, rows, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      char* at[LoopNest::kMaxOperands];
      for (int k = 0; k < nest.num_operands; ++k) at[k] = nest.base[k];
      int64_t rest = row;
      for (size_t d = 1; d < nest.sizes.size(); ++d) {
        const int64_t i = rest % nest.sizes[d];
        rest /= nest.sizes[d];
        for (int k = 0; k < nest.num_operands; ++k) at[k] += i * nest.strides[k][d];
      }
      for (int64_t i = 0; i < inner; ++i) {
        f(at);
        for (int k = 0; k < nest.num_operands; ++k) at[k] += nest.strides[k][0];
      }
    }
  });
}

}  // namespace taeda::cpu
