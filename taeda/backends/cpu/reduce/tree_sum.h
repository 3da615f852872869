// Sums of few numbers in the order of Note [Reduction tree], without vectors.
#pragma once

#include <cstdint>

#include "taeda/kernel/reduce_cascade.h"

namespace taeda::cpu {

// Sums of a type with += and zero as its default value; `kNumberSize` is the size of the numbers
// that it has.
template <class T, int kNumberSize = sizeof(T)>
struct TreeSum {
  using S = T;
  static constexpr int kLanes = 64 / kNumberSize, kWidth = 1;
  static S identity() { return S{}; }
  static S combine(S a, const S& b) { return a += b; }
};

// The sum of element(0), element(1), ...
template <class Element>
double tree_sum(int64_t n, const Element& element) {
  using Sum = TreeSum<double>;
  return kernel::td_tree<Sum, Sum>(kernel::td_source<Element>{element}, n);
}

// The sum of all, from those of its chunks.
template <class Sum>
typename Sum::S joined_chunks(const typename Sum::S* chunks, int64_t count) {
  const auto chunk = [chunks](int64_t i) { return chunks[i]; };
  return kernel::td_combine_blocks<Sum>(kernel::td_source<decltype(chunk)>{chunk}, count);
}

}  // namespace taeda::cpu
