// Sums and products of lists of integers.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>

namespace c10 {
template <class Container>
int64_t sum_integers(const Container& values) {
  return std::accumulate(std::begin(values), std::end(values), int64_t{0});
}
template <class Container>
int64_t multiply_integers(const Container& values) {
  return std::accumulate(std::begin(values), std::end(values), int64_t{1}, std::multiplies<>());
}
}  // namespace c10
