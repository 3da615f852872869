// C++ operators on tensors: a + b, 2 * a, -a.
#pragma once

#include "taeda/ops/arithmetic/functions.h"

namespace taeda {

#define TAEDA_OPERATOR(symbol, function)                                                     \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return function(a, b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) {                          \
    return function(a, wrapped_scalar(b));                                                   \
  }                                                                                          \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) {                          \
    return function(wrapped_scalar(a), b);                                                   \
  }
TAEDA_OPERATOR(+, add)
TAEDA_OPERATOR(-, sub)
TAEDA_OPERATOR(*, mul)
TAEDA_OPERATOR(/, div)
#undef TAEDA_OPERATOR

inline Tensor operator-(const Tensor& a) { return neg(a); }

}  // namespace taeda
