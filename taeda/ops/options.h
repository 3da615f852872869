// Type, layout and place of new tensors, as factories take them.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda {

// Throws for layouts and memory kinds there are none of.
TAEDA_API void check_options(std::optional<Layout> layout, std::optional<bool> pin_memory);
// New memory; empty strides mean contiguous ones.
TAEDA_API Tensor new_tensor(SymIntList size, SymIntList strides, DType dtype, Device device);
// Fills elements that nobody has written to, where results must not change from run to run: NaN,
// the largest integer, true. The part of a tensor that was resized starts at `first`.
TAEDA_API void fill_unwritten(const Tensor& made, int64_t first = 0);
// The number that does it, whatever the setting of the process is.
TAEDA_API Scalar unwritten_number(DType dtype);
// The dtype of a tensor filled with one number.
TAEDA_API DType dtype_of_fill(const Scalar& value);

}  // namespace taeda
