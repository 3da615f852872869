// The norm of vectors as a function of other operators.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// (sum |x|^p)^(1/p) over `dims`, the largest |x| for infinity; at zero the gradient is zero. In
// float for 16-bit input.
TAEDA_API Tensor vector_norm(const Tensor& x, double p, IntList dims, bool keepdim);

}  // namespace taeda
