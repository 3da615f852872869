// Derivative helpers of views.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

TAEDA_API Tensor as_strided_backward(const Tensor& grad, IntList self_sizes, IntList self_strides,
                                     int64_t self_offset, SymIntList size, SymIntList stride,
                                     const std::optional<SymInt>& offset);
// How many elements of the storage a view needs, from the storage's start on.
TAEDA_API int64_t storage_reach(IntList sizes, IntList strides, int64_t offset);

}  // namespace taeda::autograd
