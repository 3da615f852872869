// Targets of classification losses, visited in logical order beside the lines they choose from.
#pragma once

#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/reduce/tree_sum.h"
#include "taeda/base/parallel.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// "Target 5 is out of bounds." for any value that is neither a class nor `ignored`. Targets are
// int64.
void check_targets(const Tensor& target, int64_t classes, int64_t ignored);

// Calls f(position, offsets) for positions [first, last) of `sizes`, offsets in elements, one an
// operand.
template <int N, class F>
void for_positions(IntList sizes, const IntVec (&strides)[N], int64_t first, int64_t last, F&& f) {
  for (int64_t p = first; p < last;) {
    int64_t rest = p, at[N] = {};
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d])
      for (int k = 0; k < N; ++k) at[k] += rest % sizes[d] * strides[k][d];
    const int64_t cols = sizes.empty() ? 1 : sizes.back(),
                  end = std::min(last, p + cols - p % cols);
    for (; p < end; ++p) {
      f(p, at);
      for (int k = 0; k < N && !sizes.empty(); ++k) at[k] += strides[k].back();
    }
  }
}

struct LossSum {
  double loss = 0, weight = 0;
  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    weight += other.weight;
    return *this;
  }
};
using LossTree = TreeSum<LossSum, sizeof(double)>;

// The sum over positions in the order of Note [Reduction tree]; piece(first, last, to) gives those
// of a chunk one by one.
template <class F>
LossSum sum_positions(int64_t positions, F&& piece) {
  constexpr int64_t kChunk = kernel::kReduceChunk;
  std::vector<LossSum> parts(static_cast<size_t>((positions + kChunk - 1) / kChunk));
  const auto run = [&](int64_t first, int64_t last) {
    std::vector<LossSum> each(static_cast<size_t>(std::min(kChunk, positions)));
    const auto at = [&each](int64_t i) { return each[static_cast<size_t>(i)]; };
    for (int64_t k = first; k < last; ++k) {
      const int64_t begin = k * kChunk, end = std::min(positions, begin + kChunk);
      piece(begin, end, each.data());
      parts[static_cast<size_t>(k)] = kernel::td_tree_chunk<LossTree, LossTree>(
          kernel::td_source<decltype(at)>{at}, 0, end - begin);
    }
  };
  parallel_for(0, static_cast<int64_t>(parts.size()), 4, run);
  return joined_chunks<LossTree>(parts.data(), static_cast<int64_t>(parts.size()));
}

}  // namespace taeda::cpu
