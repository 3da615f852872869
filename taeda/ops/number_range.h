// Whether a number given to an operator fits the dtype that stores it.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// The largest finite number of a floating dtype (of a complex one's parts).
TAEDA_API double largest_finite(DType dtype);
// Its C++ type as PyTorch names it in messages: "c10::Half", "uint8_t".
TAEDA_API const char* stored_type_name(DType dtype);
// RuntimeError "value cannot be converted to type int8_t without overflow" where `value` lies
// outside `dtype`. A negative number wraps in an unsigned type, NaN fits floats, and so do
// infinities, of which float8_e4m3fn alone has none.
TAEDA_API void check_fits(const Scalar& value, DType dtype);
// The number of a float narrower than float32 next to `v`; beyond its largest, infinity, or the
// largest in float8_e4m3fn.
TAEDA_API double rounded_to_narrow(double v, DType dtype);
// The value of a float narrower than float32 after the assignment (not the fill) of a number beyond
// its largest: infinity, or the largest in float8_e4m3fn. Other numbers stay as they are.
TAEDA_API Scalar rounded_to(const Scalar& value, DType dtype);

}  // namespace taeda
