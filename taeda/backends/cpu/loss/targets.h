// Targets of classification losses, visited in logical order beside the lines they choose from.
#pragma once

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Positions summed as one piece; fixed, so that a sum does not depend on the threads.
constexpr int64_t kTargetPiece = 512;

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
};
// The sum of piece(first, last) over [0, positions), pieces in order.
template <class F>
LossSum sum_pieces(int64_t positions, int64_t grain, F&& piece) {
  std::vector<LossSum> parts(static_cast<size_t>((positions + kTargetPiece - 1) / kTargetPiece));
  parallel_for(0, static_cast<int64_t>(parts.size()), std::max<int64_t>(1, grain / kTargetPiece),
               [&](int64_t first, int64_t last) {
                 for (int64_t k = first; k < last; ++k)
                   parts[static_cast<size_t>(k)] =
                       piece(k * kTargetPiece, std::min(positions, (k + 1) * kTargetPiece));
               });
  LossSum total;
  for (const LossSum& part : parts) {
    total.loss += part.loss;
    total.weight += part.weight;
  }
  return total;
}

}  // namespace taeda::cpu
