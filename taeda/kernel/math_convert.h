// Integers of real numbers, for generated code: scalars and vectors.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

// Note [Numbers beyond integers]. C++ leaves open what the integer of NaN and of numbers out of
// range is. Here it is what the machine's instruction gives, as in eager kernels, whose compiler
// knows no element: the least integer on x86; the nearest one on ARM, and 0 for NaN. A compiler
// that knows the number may take another one, so the number is hidden from it. GCC takes ARM's.
// Numbers go to int32 and to all narrower integers by int32, to others by int64, as in PyTorch.
#if defined(__CUDACC__)
template <class To, class F>
TD_FN To td_integer(F x) {
  return (To)x;
}
#else
template <class To>
constexpr bool td_is_unsigned = false;
template <>
inline constexpr bool td_is_unsigned<td_ulong> = true;
template <>
inline constexpr bool td_is_unsigned<td_u64> = true;
template <class To, class F>
TD_FN To td_integer(F x) {
#  if defined(__x86_64__)
  // Only some machines have an instruction for unsigned integers: others go by the signed one.
  if constexpr (td_is_unsigned<To> && td_is_single<F>) {
    return td_integer<To>((double)x);
  } else if constexpr (td_is_unsigned<To>) {
    typedef typename td_traits<F>::I I;
    const auto is_high = x >= 0x1p63;
    const F less = x - 0x1p63;
    const I low = td_integer<I>(is_high ? less : x);
    const I high = low ^ (-0x7fffffffffffffffl - 1);
    return (To)(is_high ? high : low);
  }
  asm("" : "+x"(x));
#  elif defined(__aarch64__) && defined(__clang__)
  asm("" : "+w"(x));
#  endif
  if constexpr (td_traits<F>::is_vector)
    return __builtin_convertvector(x, To);
  else
    return (To)x;
}
#endif

TAEDA_MATH_END
