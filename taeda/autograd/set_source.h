// Kernels of the operators aten::set_: a tensor takes over another's memory, or looks at a storage
// in a way of its own. They leave the question whether autograd allows it to the caller.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// No elements of no memory.
TAEDA_API Tensor& set_to_nothing(Tensor& self);
// RuntimeError unless the dtypes are the same.
TAEDA_API Tensor& set_to_tensor(Tensor& self, const Tensor& source);
// All of the storage, in one dimension. RuntimeError for a storage of another device.
TAEDA_API Tensor& set_to_storage(Tensor& self, Storage source);
// A part of the storage, which grows where it is too small; without strides a contiguous one.
TAEDA_API Tensor& set_to_window(Tensor& self, Storage source, SymInt offset, SymIntList size,
                                SymIntList stride);

}  // namespace taeda::autograd
