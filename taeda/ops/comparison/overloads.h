// C++ comparisons and bit operators on tensors: a < b, 0 == a, mask & ~other. Element by element:
// the result is a tensor, a == b too.
//
// Not among the operators that every source sees (taeda/ops/overloads.h): `==` on tensors inside
// the library is a mistake more often than not.
#pragma once

#include "taeda/ops/functions.h"

namespace taeda {

#define TAEDA_OPERATOR(symbol, function)                                                     \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return function(a, b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return function(a, b); } \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) {                          \
    return function(wrapped_scalar(a), b);                                                   \
  }
TAEDA_OPERATOR(<, lt)
TAEDA_OPERATOR(<=, le)
TAEDA_OPERATOR(>, gt)
TAEDA_OPERATOR(>=, ge)
TAEDA_OPERATOR(==, eq)
TAEDA_OPERATOR(!=, ne)
TAEDA_OPERATOR(&, bitwise_and)
TAEDA_OPERATOR(|, bitwise_or)
TAEDA_OPERATOR(^, bitwise_xor)
TAEDA_OPERATOR(%, remainder)
#undef TAEDA_OPERATOR

inline Tensor operator~(const Tensor& t) { return bitwise_not(t); }
inline Tensor operator!(const Tensor& t) { return logical_not(t); }

}  // namespace taeda
