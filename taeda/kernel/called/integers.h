// Common divisors and multiples of 64-bit integers.
#pragma once

#include "taeda/kernel/called/lanes.h"

TAEDA_MATH_BEGIN

TD_FN int td_trailing_zeros(td_ulong x) {
#if defined(__CUDACC__)
  return __ffsll((long long)x) - 1;
#else
  return __builtin_ctzl(x);
#endif
}

// Stein's: halves instead of divisions.
TD_SLOW_FN td_ulong td_gcd_at(td_ulong a, td_ulong b) {
  if (a == 0 || b == 0) return a | b;
  const int twos = td_trailing_zeros(a | b);
  a >>= td_trailing_zeros(a);
  while (b != 0) {
    b >>= td_trailing_zeros(b);
    const td_ulong less = a < b ? a : b, more = a < b ? b : a;
    a = less;
    b = more - less;
  }
  return a << twos;
}
// The product wraps.
TD_SLOW_FN td_ulong td_lcm_at(td_ulong a, td_ulong b) {
  const td_ulong divisor = td_gcd_at(a, b);
  return divisor == 0 ? 0 : a / divisor * b;
}
// Of sizes, in the unsigned type, where that of the least integer has a place.
TD_FN td_long td_gcd_at(td_long a, td_long b) {
  return (td_long)td_gcd_at((td_ulong)td_abs(a), (td_ulong)td_abs(b));
}
TD_FN td_long td_lcm_at(td_long a, td_long b) {
  return (td_long)td_lcm_at((td_ulong)td_abs(a), (td_ulong)td_abs(b));
}

TD_CALLED(gcd)
TD_CALLED(lcm)

TAEDA_MATH_END
