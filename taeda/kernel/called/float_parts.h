// Parts and neighbours of floating-point numbers.
#pragma once

#include "taeda/kernel/called/lanes.h"

TAEDA_MATH_BEGIN

// A number as fraction * 2^exponent with a fraction from 1/2 to 1; zero, infinity and NaN are
// fractions.
template <class S>
struct td_number_parts {
  S fraction, exponent;
};

template <class S>
TD_FN td_number_parts<S> td_parts_of(S x) {
  typedef typename td_traits<S>::I I;
  const S a = td_abs(x);
  if (!(a > S(0)) || a == td_inf<S>()) return {x, S(0)};
  const int shift = td_is_single<S> ? 23 : 52, bias = td_is_single<S> ? 126 : 1022;
  const int lift = a >= td_c<S>(0x1p-126f, 0x1p-1022) ? 0 : td_is_single<S> ? 30 : 60;
  const S lifted = lift ? a * td_c<S>(0x1p30f, 0x1p60) : a;
  const I power = td_bits(lifted) >> shift;
  const S fraction = td_from_bits(td_bits(lifted) - ((power - bias) << shift));
  return {td_copysign(fraction, x), (S)(power - bias - lift)};
}
template <class S>
TD_SLOW_FN S td_frexp_fraction_at(S x) {
  return td_parts_of(x).fraction;
}
template <class S>
TD_SLOW_FN S td_frexp_exponent_at(S x) {
  return td_parts_of(x).exponent;
}

// The number after x in the direction of y, among those of `digits` significant bits: 24 of float,
// 53 of double, 11 of float16 and 8 of bfloat16, whose numbers are floats here.
template <class S>
TD_SLOW_FN S td_nextafter_at(S x, S y, S digits) {
  typedef typename td_traits<S>::I I;
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  const bool is_away = (x < y) == (x > S(0));
  if (td_is_single<S> && digits == S(11)) {
    // Below 2^-14 the numbers are as far apart as the least one is from zero.
    const S least = S(0x1p-24f), even = S(0x1p-14f), a = td_abs(x);
    if (a == td_inf<S>()) return td_copysign(S(65504), x);
    if (a < even || (a == even && !is_away)) {
      const S next = x < y ? x + least : x - least;
      return next == S(0) ? td_copysign(next, x) : next;
    }
  }
  const bool is_wide = !td_is_single<S> || digits == S(24);
  const I step = is_wide ? 1 : digits == S(11) ? 1 << 13 : 1 << 16;
  if (x == S(0)) return td_copysign((S)td_from_bits(step), y);
  return td_from_bits(is_away ? td_bits(x) + step : td_bits(x) - step);
}

TD_CALLED(frexp_fraction)
TD_CALLED(frexp_exponent)
TD_CALLED(nextafter)

TAEDA_MATH_END
