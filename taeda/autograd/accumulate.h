// Adding gradients: when a sum may reuse the memory of a summand.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// Whether the holder of this handle is the only one who can see the values, so that they may be
// overwritten. False for anything that is not plain dense memory.
TAEDA_API bool is_exclusive(const Tensor& t);
// slot += grad; takes `grad` over when the slot is empty, writes in place when that is
// unobservable.
TAEDA_API void accumulate_into(Tensor& slot, Tensor grad);

}  // namespace taeda::autograd
