// Rows of elements, cut into shares for threads.
#pragma once

#include <algorithm>
#include <vector>

#include "taeda/base/parallel.h"

namespace taeda::cpu {

// Elements worth a thread.
constexpr int64_t kShareGrain = 32768;

// Calls piece(row, first, count) for pieces that cover all rows: `starts[i]` is where row i begins
// in the sequence of all elements, with their number at the end. Threads take equal shares of it,
// so that few long rows and many short ones are both spread.
template <class Piece>
void for_pieces(const std::vector<int64_t>& starts, Piece&& piece) {
  parallel_for(0, starts.back(), kShareGrain, [&](int64_t first, int64_t last) {
    auto row = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), first) -
                                   starts.begin() - 1);
    for (; first < last; ++row) {
      const int64_t end = std::min(last, starts[row + 1]);
      if (end > first) piece(row, first - starts[row], end - first);
      first = end;
    }
  });
}

}  // namespace taeda::cpu
