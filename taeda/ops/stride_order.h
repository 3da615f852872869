// Strides of a dense result by the strides of what it is made of.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// As strides_in_order (shape.h), from the inputs' strides along the result's dimensions: 0 where an
// input is repeated.
TAEDA_API SymIntVec strides_in_order(Span<SymIntVec> inputs, SymIntList sizes);

}  // namespace taeda
