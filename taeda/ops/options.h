// Type, layout and place of new tensors, as factories take them.
#pragma once

#include <optional>

#include "taeda/core/tensor.h"

namespace taeda {

// Throws for layouts and memory kinds there are none of.
TAEDA_API void check_options(std::optional<Layout> layout, std::optional<bool> pin_memory);
// New memory; empty strides mean contiguous ones.
TAEDA_API Tensor new_tensor(SymIntList size, SymIntList strides, DType dtype, Device device);
// The dtype of a tensor filled with one number.
TAEDA_API DType dtype_of_fill(const Scalar& value);

}  // namespace taeda
