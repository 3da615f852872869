// Checks gradients against the forward values they belong to.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// Brings `grad` to the sizes, dtype and device of `expected`: sums dimensions that broadcasting
// widened, converts dtypes, moves zero-dim tensors. Anything else is the error of function `name`
// (null: the caller's) at `index`.
void fit_gradient(const InputMetadata& expected, Tensor& grad, const char* name, size_t index);

inline void validate_gradient(const InputMetadata& expected, Tensor& grad, const char* name,
                              size_t index) {
  if (!grad.defined() || (grad.dtype() == expected.dtype && grad.device() == expected.device &&
                          grad.sym_sizes() == SymIntList(expected.sizes)))
    return;
  fit_gradient(expected, grad, name, index);
}

}  // namespace taeda::autograd
