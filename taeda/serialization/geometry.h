// Whether a tensor that a file describes lies in its memory.
#pragma once

#include <string>

#include "taeda/core/tensor.h"

namespace taeda::serialization {

// Empty where the elements lie in `available` bytes, in arithmetic that notices overflow; else the
// fault.
TAEDA_API std::string geometry_problem(IntList sizes, IntList strides, int64_t offset, DType dtype,
                                       uint64_t available);
// A tensor over a storage; RuntimeError with the fault where it does not lie inside.
TAEDA_API Tensor tensor_over(const Storage& storage, DType dtype, IntList sizes, IntList strides,
                             int64_t offset);

}  // namespace taeda::serialization
