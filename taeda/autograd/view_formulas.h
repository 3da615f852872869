// Derivative helpers of views.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

TAEDA_API Tensor as_strided_backward(const Tensor& grad, IntList self_sizes, IntList self_strides,
                                     int64_t self_offset, SymIntList size, SymIntList stride,
                                     const std::optional<SymInt>& offset);

}  // namespace taeda::autograd
