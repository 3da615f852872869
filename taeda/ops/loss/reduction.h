// How a loss of elements becomes the loss of a batch.
#pragma once

#include "taeda/ops/functions.h"

namespace taeda::impl {

// The numbers that the schemas carry.
enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

inline Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == kMean ? loss.mean() : reduction == kSum ? loss.sum() : loss;
}

}  // namespace taeda::impl
