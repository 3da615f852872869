// Derivative helpers of views.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor as_strided_backward(const Tensor& grad, SymIntList self_sizes,
                                     SymIntList self_strides, const SymInt& self_offset,
                                     SymIntList size, SymIntList stride,
                                     const std::optional<SymInt>& offset);
// Puts back the dimensions of size one that squeeze took away, of all or of those named. Without
// any to put back, the gradient itself.
TAEDA_API Tensor restore_squeezed(const Tensor& grad, SymIntList sizes);
TAEDA_API Tensor restore_squeezed(const Tensor& grad, SymIntList sizes, IntList dims);
// How many elements of the storage a view needs, from the storage's start on.
TAEDA_API SymInt storage_reach(SymIntList sizes, SymIntList strides, const SymInt& offset);

}  // namespace taeda::gradients
