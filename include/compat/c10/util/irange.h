// c10::irange(n), c10::irange(begin, end): whole numbers to loop over.
#pragma once

#include <algorithm>
#include <ranges>

namespace c10 {
template <class Integer>
auto irange(Integer end) {
  return std::views::iota(Integer{0}, std::max(Integer{0}, end));
}
template <class First, class Last>
auto irange(First begin, Last end) {
  const auto from = static_cast<Last>(begin);
  return std::views::iota(from, std::max(from, end));
}
}  // namespace c10
