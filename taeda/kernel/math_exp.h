// Exponentials and hyperbolic functions: exp, exp2, expm1, tanh, sinh, cosh.
#pragma once

#include "taeda/kernel/math_polynomials.h"
#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

// Note [Biased exponents]. The integer n of a reduction is read from the bits of n + kMagic, where
// adding 1.5 * 2^mantissa rounds to an integer and another 2 * bias makes both halves of the sum
// valid exponents: no integer addition is left to do. The bits above are pushed out by the shift.
template <class F>
TD_FN constexpr typename td_traits<F>::S td_exponent_magic() {
  return td_c<F>(0x1.8p23f + 254.0f, 0x1.8p52 + 2046.0);
}

// x * 2^n for n = biased - 2 * bias, in two steps, so that subnormal and overflowing results round
// once.
template <class F>
TD_FN F td_scale_biased(F x, typename td_traits<F>::I biased) {
  const int shift = td_is_single<F> ? 23 : 52;
  typename td_traits<F>::I half = biased >> 1;
  F a = td_from_bits(half << shift);
  F b = td_from_bits((biased - half) << shift);
  return x * a * b;
}
template <class F>
TD_FN F td_scale2(F x, typename td_traits<F>::I n) {
  return td_scale_biased(x, n + td_ci<F>(254, 2046));
}

// x = n ln2 + r + c with |r| <= ln2/2 and c the rounding error of r; biased holds n, too.
template <class F>
struct td_exp_reduced {
  F r, c, n;
  typename td_traits<F>::I biased;
};
template <class F>
TD_FN td_exp_reduced<F> td_exp_reduce(F x) {
  const F magic = td_broadcast<F>::of(td_exponent_magic<F>());
  F t = td_fma(x, td_k<F>(0x1.715476p+0f, 0x1.71547652b82fep+0), magic);
  F n = t - magic;
  F high = td_fma(n, td_k<F>(-0x1.62e4p-1f, -0x1.62e42fefa4p-1), x);
  F low = td_k<F>(-0x1.7f7d1cp-20f, 0x1.8432a1b0e2634p-43);
  F r = td_fma(n, low, high);
  return {r, td_fma(n, low, high - r), n, td_bits(t)};
}
// (1 + y) * 2^n in two steps; the sum rounds once, together with the first step.
template <class F>
TD_FN F td_scale_sum(F y, td_exp_reduced<F> d) {
#if defined(TD_HAS_SCALE_FLOAT)
  if constexpr (td_traits<F>::is_vector) return td_scale_float(y + td_k<F>(1.0f, 1.0), d.n);
#endif
  const int shift = td_is_single<F> ? 23 : 52;
  typename td_traits<F>::I half = d.biased >> 1;
  F a = td_from_bits(half << shift);
  F b = td_from_bits((d.biased - half) << shift);
  return td_fma(y, a, a) * b;
}
// Arguments outside give 0 or inf as well as their bounds do.
template <class F>
TD_FN F td_exp_clamp(F x) {
  return td_clamp(x, td_k<F>(-104.0f, -746.0), td_k<F>(90.0f, 711.0));
}

// e^(x + low) = (hi + lo) 2^n, low a correction of an ulp of x or less; biased holds n.
template <class F>
struct td_exp_scaled {
  F hi, lo;
  typename td_traits<F>::I biased;
};
template <class F>
TD_FN td_exp_scaled<F> td_exp_parts(F x, F low) {
  td_exp_reduced<F> d = td_exp_reduce(td_exp_clamp(x));
  td_pair<F> one = td_fast_two_sum(td_k<F>(1.0f, 1.0), d.r);
  F tail = td_fma(d.r * d.r, td_poly_exp(d.r), one.lo);
  tail = td_fma(one.hi + tail, d.c + low, tail);
  td_pair<F> sum = td_fast_two_sum(one.hi, tail);
  return {sum.hi, sum.lo, d.biased};
}
// e^(x + low) / 2^halvings
template <class F>
TD_FN F td_exp_corrected(F x, F low, int halvings) {
  td_exp_scaled<F> e = td_exp_parts(x, low);
  return td_scale_biased(e.hi, e.biased - halvings);
}

template <class F>
TD_FN F td_exp(F x) {
  td_exp_reduced<F> d = td_exp_reduce(td_exp_clamp(x));
  F y = td_fma(d.r * d.r, td_poly_exp(d.r), d.r);
  return td_scale_sum(y, d);
}

template <class F>
TD_FN F td_exp2(F x) {
  x = td_clamp(x, td_k<F>(-151.0f, -1076.0), td_k<F>(129.0f, 1025.0));
  const F magic = td_broadcast<F>::of(td_exponent_magic<F>());
  F t = x + magic;
  F r = x - (t - magic);
  F p = td_fma(r, td_poly_exp2(r), td_k<F>(1.0f, 1.0));
  return td_scale_biased(p, td_bits(t));
}

// (e^x - 1) / 2 as a pair, for x between the exponent range's ends.
template <class F>
TD_FN td_pair<F> td_half_expm1(F x) {
  typedef typename td_traits<F>::S S;
  td_exp_reduced<F> d = td_exp_reduce(x);
  // 2^(n-1)
  F scale = td_from_bits((d.biased - td_ci<F>(128, 1024)) << (td_is_single<F> ? 23 : 52));
  td_pair<F> sum = td_two_sum(scale - S(0.5), scale * d.r);
  F tail = td_fma(d.r * d.r, td_poly_exp(d.r), d.c);
  return {sum.hi, td_fma(scale, tail, sum.lo)};
}

template <class F>
TD_FN F td_expm1(F x) {
  typedef typename td_traits<F>::S S;
  td_pair<F> half = td_half_expm1(td_clamp(x, td_k<F>(-18.0f, -40.0), td_k<F>(89.0f, 710.0)));
  F result = (half.hi + half.lo) * S(2);
  return td_abs(x) < td_c<F>(0x1p-26f, 0x1p-55) ? x : result;
}

// (n.hi + n.lo) / (d.hi + d.lo) for normalized pairs, the rounding error of hi in lo.
template <class F>
TD_FN td_pair<F> td_pair_divide(td_pair<F> n, td_pair<F> d) {
  typedef typename td_traits<F>::S S;
  F inverse = S(1) / d.hi;
  F q = n.hi * inverse;
  F rest = td_fma(-q, d.hi, n.hi) + td_fma(-q, d.lo, n.lo);
  return {q, rest * inverse};
}

// e^(2a) for 0 <= a; beyond the bound of a it is large enough for tanh.
template <class F>
TD_FN F td_exp_twice(F a) {
  // The exponent of 2^n alone: n is small, so that one step scales.
  const F magic = td_k<F>(0x1.8p23f + 127.0f, 0x1.8p52 + 1023.0);
  a = td_min_second(td_k<F>(10.0f, 20.0), a);
  F t = td_fma(a, td_k<F>(0x1.715476p+1f, 0x1.71547652b82fep+1), magic);
  F n = t - magic;
  F high = td_fma(n, td_k<F>(-0x1.62e4p-1f, -0x1.62e42fefa4p-1), a + a);
  F r = td_fma(n, td_k<F>(-0x1.7f7d1cp-20f, 0x1.8432a1b0e2634p-43), high);
  F y = td_fma(r * r, td_poly_exp(r), r);
  F scale = td_from_bits(td_bits(t) << (td_is_single<F> ? 23 : 52));
  return td_fma(y, scale, scale);
}

template <class F>
TD_FN F td_tanh(F x) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  F z = a * a;
  F small = td_fma(a * z, td_poly_tanh(z), a);
  F large = S(1) - S(2) / (td_exp_twice(a) + S(1));
  return td_copysign(a < S(0.5625) ? small : large, x);
}

template <class F>
TD_FN F td_sinh(F x) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  F z = a * a;
  F small = td_fma(a * z, td_poly_sinh(z), a);
  F half = td_exp_corrected(a, td_k<F>(0.0f, 0.0), 1);
  F large = half - S(0.25) / half;
  F result = a < S(1) ? small : large;
  return td_copysign(a < td_c<F>(0x1p-14f, 0x1p-28) ? a : result, x);
}

template <class F>
TD_FN F td_cosh(F x) {
  typedef typename td_traits<F>::S S;
  F half = td_exp_corrected(td_abs(x), td_k<F>(0.0f, 0.0), 1);
  return half + S(0.25) / half;
}

TAEDA_MATH_END
