// at::parallel_for and parallel_reduce over Taeda's parallel loop.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "taeda/base/parallel.h"

namespace at {
using ::taeda::parallel_for;
inline int get_num_threads() { return ::taeda::num_threads(); }
inline void set_num_threads(int n) { ::taeda::set_num_threads(n); }
// Taeda has one pool, which starts when it is first used.
inline void init_num_threads() {}
inline int get_thread_num() { return ::taeda::thread_index(); }
inline bool in_parallel_region() { return ::taeda::in_parallel_region(); }
// Parts of at least `grain` elements, folded by `f`; `sf` joins their values in their order.
template <class T, class F, class SF>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T ident, const F& f, const SF& sf) {
  if (end <= begin) return ident;
  const int64_t size = std::max<int64_t>(grain, 1);
  std::vector<T> parts(static_cast<size_t>((end - begin + size - 1) / size), ident);
  parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t from = begin + i * size;
      parts[static_cast<size_t>(i)] = f(from, std::min(from + size, end), ident);
    }
  });
  return std::accumulate(parts.begin(), parts.end(), ident, sf);
}
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
namespace internal {
inline constexpr int64_t GRAIN_SIZE = 32768;
}
}  // namespace at
