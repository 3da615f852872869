// How a bag's rows become one.
#pragma once

#include <cstdint>

namespace taeda {

// The numbers that the schemas carry.
enum BagMode : int64_t { kSumBag = 0, kMeanBag = 1, kMaxBag = 2 };

}  // namespace taeda
