// A whole number that a tensor of no dimensions holds; a symbol where values are not known.
#pragma once

#include "taeda/ops/functions.h"

namespace taeda {

// Through the dispatcher, so that fake tensors, tracers and vmap answer in their own way.
inline SymInt number_in_tensor(const Tensor& t) {
  const Scalar number = taeda::_local_scalar_dense(t);
  return number.is_symbolic() ? SymInt(IntrusivePtr<SymNode>::share(number.node()))
                              : SymInt(number.to_int());
}

}  // namespace taeda
