// Derivative helpers of views.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

TAEDA_API Tensor as_strided_backward(const Tensor& grad, SymIntList self_sizes,
                                     SymIntList self_strides, const SymInt& self_offset,
                                     SymIntList size, SymIntList stride,
                                     const std::optional<SymInt>& offset);
// How many elements of the storage a view needs, from the storage's start on.
TAEDA_API SymInt storage_reach(SymIntList sizes, SymIntList strides, const SymInt& offset);

}  // namespace taeda::autograd
