// 64-bit integer functions: safe division, powers and shifts, for scalars and vectors.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

TD_FN td_long td_abs(td_long x) { return x < 0 ? (td_long)(0 - (td_ulong)x) : x; }
TD_FN td_ulong td_abs(td_ulong x) { return x; }

// Division by zero gives 0; the least number divided by -1 is itself.
TD_FN td_long td_div_trunc(td_long a, td_long b) {
  if (b == 0) return 0;
  return b == -1 ? (td_long)(0 - (td_ulong)a) : a / b;
}
TD_FN td_ulong td_div_trunc(td_ulong a, td_ulong b) { return b == 0 ? 0 : a / b; }
TD_FN td_long td_fmod(td_long a, td_long b) { return b == 0 || b == -1 ? 0 : a % b; }
TD_FN td_ulong td_fmod(td_ulong a, td_ulong b) { return b == 0 ? 0 : a % b; }
TD_FN td_long td_remainder(td_long a, td_long b) {
  td_long m = td_fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
TD_FN td_ulong td_remainder(td_ulong a, td_ulong b) { return td_fmod(a, b); }
TD_FN td_long td_div_floor(td_long a, td_long b) {
  td_long m = td_fmod(a, b);
  return td_div_trunc(a, b) - (m != 0 && (m < 0) != (b < 0) ? 1 : 0);
}
TD_FN td_ulong td_div_floor(td_ulong a, td_ulong b) { return td_div_trunc(a, b); }

TD_FN td_ulong td_pow(td_ulong base, td_ulong exponent) {
  td_ulong result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) result *= exponent & 1 ? base : 1;
  return result;
}
// A negative exponent leaves only the units: 1 and -1 keep their powers, all others give 0.
TD_FN td_long td_pow(td_long base, td_long exponent) {
  if (exponent >= 0) return (td_long)td_pow((td_ulong)base, (td_ulong)exponent);
  if (base == 1) return 1;
  return base == -1 ? (exponent & 1 ? -1 : 1) : 0;
}

// Integers are their own roundings.
#define TD_INT_ROUNDINGS(I)           \
  TD_FN I td_floor(I x) { return x; } \
  TD_FN I td_ceil(I x) { return x; }  \
  TD_FN I td_trunc(I x) { return x; } \
  TD_FN I td_round(I x) { return x; }
TD_INT_ROUNDINGS(td_long)
TD_INT_ROUNDINGS(td_ulong)
#if !defined(__CUDACC__)
TD_INT_ROUNDINGS(td_i64)
TD_INT_ROUNDINGS(td_u64)
#endif
#undef TD_INT_ROUNDINGS

// Counts of 64 and more, negative ones included, push every bit out.
TD_FN td_long td_shift_left(td_long a, td_long b) {
  return (td_ulong)b < 64 ? (td_long)((td_ulong)a << b) : 0;
}
TD_FN td_ulong td_shift_left(td_ulong a, td_ulong b) { return b < 64 ? a << b : 0; }
TD_FN td_long td_shift_right(td_long a, td_long b) { return a >> ((td_ulong)b < 64 ? b : 63); }
TD_FN td_ulong td_shift_right(td_ulong a, td_ulong b) { return b < 64 ? a >> b : 0; }

#if !defined(__CUDACC__)
TD_FN td_i64 td_abs(td_i64 x) {
  td_i64 negated = (td_i64)(-(td_u64)x);
  return x < 0 ? negated : x;
}
TD_FN td_u64 td_abs(td_u64 x) { return x; }
#  define TD_INT_LANES(name)                                                                     \
    TD_FN td_i64 name(td_i64 a, td_i64 b) {                                                      \
      td_i64 r = {};                                                                             \
      for (int i = 0; i < TAEDA_VEC_BYTES / 8; ++i) r[i] = name((td_long)a[i], (td_long)b[i]);   \
      return r;                                                                                  \
    }                                                                                            \
    TD_FN td_u64 name(td_u64 a, td_u64 b) {                                                      \
      td_u64 r = {};                                                                             \
      for (int i = 0; i < TAEDA_VEC_BYTES / 8; ++i) r[i] = name((td_ulong)a[i], (td_ulong)b[i]); \
      return r;                                                                                  \
    }
TD_INT_LANES(td_div_trunc)
TD_INT_LANES(td_div_floor)
TD_INT_LANES(td_fmod)
TD_INT_LANES(td_remainder)
TD_INT_LANES(td_pow)
#  undef TD_INT_LANES
TD_FN td_i64 td_shift_left(td_i64 a, td_i64 b) {
  td_i64 shifted = (td_i64)((td_u64)a << ((td_u64)b & 63));
  return (td_u64)b < 64 ? shifted : td_i64{};
}
TD_FN td_u64 td_shift_left(td_u64 a, td_u64 b) { return b < 64 ? a << (b & 63) : td_u64{}; }
TD_FN td_i64 td_shift_right(td_i64 a, td_i64 b) {
  return a >> ((td_u64)b < 64 ? b : td_i64{} + 63);
}
TD_FN td_u64 td_shift_right(td_u64 a, td_u64 b) { return b < 64 ? a >> (b & 63) : td_u64{}; }
#endif

TAEDA_MATH_END
