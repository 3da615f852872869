// How a bag's rows become one.
#pragma once

#include <cstdint>

namespace taeda {

// The numbers that the schemas carry.
enum BagMode : int64_t { kSumBag = 0, kMeanBag = 1, kMaxBag = 2 };

// The bag of an index that is in none: behind the last offset where that is an end. The other bags
// count from kNoBag + 1 = 0.
inline constexpr int64_t kNoBag = -1;

}  // namespace taeda
