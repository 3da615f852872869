// Whether a number given to an operator fits the dtype that stores it.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// The largest finite number of a floating dtype (of a complex one's parts).
TAEDA_API double largest_finite(DType dtype);
// RuntimeError "value cannot be converted to type int8_t without overflow" where `value` lies
// outside `dtype`. A negative number wraps in an unsigned type, infinities and NaN fit floats.
TAEDA_API void check_fits(const Scalar& value, DType dtype);

}  // namespace taeda
