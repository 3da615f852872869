// The threads of a LineWalk.
#include "taeda/backends/cpu/reduce/line_walk.h"

#include <algorithm>

#include "taeda/base/parallel.h"

namespace taeda::cpu {

void LineWalk::run(FunctionRef<void(char* const*, int64_t)> f) {
  nest_.finish(shape_);
  if (nest_.numel == 0 || length == 0) return;
  const int64_t cols = nest_.sizes[0];
  parallel_for(0, nest_.numel, std::max<int64_t>(1, 32768 / length),
               [&](int64_t first, int64_t last) {
                 while (first < last) {
                   const int64_t col = first % cols, lines = std::min(cols - col, last - first);
                   char* at[LoopNest::kMaxOperands];
                   for (int k = 0; k < nest_.num_operands; ++k) {
                     at[k] = nest_.base[k] + col * nest_.strides[k][0];
                     int64_t rest = first / cols;
                     for (size_t d = 1; d < nest_.sizes.size(); rest /= nest_.sizes[d], ++d)
                       at[k] += rest % nest_.sizes[d] * nest_.strides[k][d];
                   }
                   f(at, lines);
                   first += lines;
                 }
               });
}

}  // namespace taeda::cpu
