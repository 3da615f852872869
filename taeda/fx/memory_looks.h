// Tensors that look at parts of another one's memory, in its dtype or in another.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::fx {

// The part of the memory of `whole` that has these sizes and strides, in elements of `dtype`.
// `start` is the place in the storage, in elements of the smaller one of the two dtypes. Real parts
// of complex numbers and complex numbers made of real ones are views for autograd, too.
Tensor look_at_memory(const Tensor& whole, DType dtype, SymIntList sizes, SymIntList strides,
                      const SymInt& start);
// `whole` with `part` there.
Tensor scatter_into_memory(const Tensor& whole, const Tensor& part, SymIntList sizes,
                           SymIntList strides, const SymInt& start);

}  // namespace taeda::fx
