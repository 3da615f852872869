// The numbers of sample tensors: from the counter-based generator alone, so that they are the same
// on every machine.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

struct SampleLimits {
  double low, high;
  bool is_signed;  // each number gets a sign of its own
};

// A tensor of distinct numbers between the limits, no two closer than half of a step between
// neighbours. Integers are whole and not zero, distinct as long as there are at most nine; limits
// below one stand for 1 to 9 there.
Tensor sample_tensor(uint64_t seed, IntList sizes, SampleLimits limits, DType dtype);

}  // namespace taeda
