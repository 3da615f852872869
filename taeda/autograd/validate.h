// Checks gradients against the forward values they belong to.
#pragma once

#include <algorithm>

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// Brings `grad` to the sizes, dtype and device of `expected`: sums dimensions that broadcasting
// widened, converts dtypes, moves zero-dim tensors. Anything else is the error of function `name`
// (null: the caller's) at `index`.
void fit_gradient(const InputMetadata& expected, Tensor& grad, const char* name, size_t index);

// Whether a gradient has the expected sizes, none of them a symbol (Note [SymInt layout]).
inline bool has_plain_sizes(const Tensor& grad, const InputMetadata& expected) {
  if (grad.impl()->has_symbolic_sizes()) return false;
  const IntList own = grad.sizes();
  return std::equal(own.begin(), own.end(), expected.sizes.begin(), expected.sizes.end(),
                    [](int64_t a, const SymInt& b) { return a == b.word(); });
}

inline void validate_gradient(const InputMetadata& expected, Tensor& grad, const char* name,
                              size_t index) {
  if (!grad.defined() || (grad.dtype() == expected.dtype && grad.device() == expected.device &&
                          has_plain_sizes(grad, expected)))
    return;
  fit_gradient(expected, grad, name, index);
}

}  // namespace taeda::autograd
