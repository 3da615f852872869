// Arithmetic of shape rules on plain numbers near the limits of 64 bits: a sum or product beyond
// them is an answer of the rule ("invalid for input of size 8"), not an error of the arithmetic.
// Symbolic numbers take the plain way.
#pragma once

#include <algorithm>
#include <limits>

#include "taeda/core/symint.h"

namespace taeda {

inline bool are_plain(const SymInt& a, const SymInt& b) {
  return !a.is_symbolic() && !b.is_symbolic();
}

// Adds to the sum; false, and the sum as it was, where 64 bits do not hold the result.
inline bool add_within_limits(SymInt& sum, const SymInt& part) {
  int64_t ignored = 0;
  if (are_plain(sum, part) && __builtin_add_overflow(sum.word(), part.word(), &ignored))
    return false;
  sum += part;
  return true;
}

// The same for products.
inline bool multiply_within_limits(SymInt& product, const SymInt& factor) {
  int64_t ignored = 0;
  if (are_plain(product, factor) && __builtin_mul_overflow(product.word(), factor.word(), &ignored))
    return false;
  product *= factor;
  return true;
}

// A copy of numbers that a caller gave: one that no SymInt holds is refused, where `as_symint`
// would take it for a symbol.
inline SymIntVec checked_symints(IntList values) {
  SymIntVec out;
  for (const int64_t value : values) out.push_back(SymInt(value));
  return out;
}

// How many parts of a length cover a whole that is not negative.
inline SymInt parts_of(const SymInt& whole, const SymInt& length) {
  if (are_plain(whole, length))
    return SymInt(whole.word() / length.word() + (whole.word() % length.word() != 0));
  return (whole + length - SymInt(1)) / length;
}

// The side of the square matrix that has a vector of this length on a diagonal.
inline SymInt diagonal_side(const SymInt& length, int64_t offset) {
  constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max() / 4;
  const int64_t far = std::clamp(offset, -kFarthest, kFarthest);
  SymInt side = length + SymInt(far < 0 ? -far : far);
  TAEDA_CHECK(far == offset, "Storage size calculation overflowed with sizes=[", side, ", ", side,
              "] and more for offset ", offset);
  return side;
}

}  // namespace taeda
