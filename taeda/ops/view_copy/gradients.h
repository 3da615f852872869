// Derivative helpers of copies with a part replaced.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// A gradient in memory laid out as the input's, for formulas that look at it through strides.
TAEDA_API Tensor laid_out(const Tensor& grad, SymIntList sizes, SymIntList strides,
                          const SymInt& offset);

}  // namespace taeda::gradients
