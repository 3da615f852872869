// Logarithms and functions made of them: log, log1p, log2, log10, asinh, acosh, atanh, pow.
#pragma once

#include "taeda/kernel/math_exp.h"
#include "taeda/kernel/math_polynomials.h"
#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for finite x > 0.
template <class F>
struct td_log_split {
  F e, f;
};
template <class F>
TD_FN td_log_split<F> td_split(F x) {
  typedef typename td_traits<F>::S S;
  typedef typename td_traits<F>::I I;
  const int shift = td_is_single<F> ? 23 : 52;
  auto tiny = x < td_c<F>(0x1p-126f, 0x1p-1022);
  F scaled = x * td_c<F>(0x1p24f, 0x1p54);
  // Without the sign, which only numbers outside the domain have, the difference cannot overflow.
  I bits = td_bits(tiny ? scaled : x) & td_ci<F>(0x7fffffff, 0x7fffffffffffffff);
  I e = (bits - td_ci<F>(0x3f3504f3, 0x3fe6a09e667f3bcd)) >> shift;
  F m = td_from_bits(bits - (e << shift));
  // Small integers become floating point through the bits of 1.5 * 2^mantissa.
  F exponent =
      td_from_bits(e + td_ci<F>(0x4b400000, 0x4338000000000000)) - td_c<F>(0x1.8p23f, 0x1.8p52);
  F lifted = exponent - td_c<F>(24.0f, 54.0);
  return {tiny ? lifted : exponent, m - S(1)};
}

// log(1 + f) as a pair.
template <class F>
TD_FN td_pair<F> td_log_mantissa(F f) {
  typedef typename td_traits<F>::S S;
  F half_f = S(0.5) * f;
  F h = half_f * f;
  F h_error = td_fma(half_f, f, -h);
  F tail;
  if constexpr (td_is_single<F>) {
    tail = f * f * f * td_poly_log_cubic(f);
  } else {
    F s = f / (S(2) + f);
    F z = s * s;
    tail = s * td_fma(z, td_poly_log_quotient(z), h);
  }
  F hi = f - h;
  F error = (f - hi) - h;
  return {hi, (error - h_error) + tail};
}

// log(u) + correction + extra_e ln2 for finite u > 0 and a correction below an ulp of log(u) + 1.
template <class F>
TD_FN F td_log_sum(F u, F correction, F extra_e) {
  td_log_split<F> d = td_split(u);
  td_pair<F> m = td_log_mantissa(d.f);
  F e = d.e + extra_e;
  td_pair<F> sum = td_fast_two_sum(e * td_c<F>(0x1.62e4p-1f, 0x1.62e42fefa4p-1), m.hi);
  F low = td_fma(e, td_k<F>(0x1.7f7d1cp-20f, -0x1.8432a1b0e2634p-43), m.lo + correction);
  return sum.hi + (sum.lo + low);
}

// The value of a logarithm whose argument is x: r inside, else -inf, inf or NaN.
template <class F>
TD_FN F td_log_domain(F x, F r) {
  typedef typename td_traits<F>::S S;
  const S inf = td_inf<F>();
  F at_zero = x == S(0) ? td_broadcast<F>::of(-inf) : td_broadcast<F>::of(td_nan<F>());
  F inside = x < inf ? r : x;
  return x > S(0) ? inside : at_zero;
}

template <class F>
TD_FN F td_log(F x) {
  const F zero = td_k<F>(0.0f, 0.0);
  return td_log_domain(x, td_log_sum(x, zero, zero));
}

// (e unit + log(1+f) factor), unit and factor given as pairs.
template <class F>
TD_FN F td_log_base(F x, td_pair<F> unit, td_pair<F> factor) {
  td_log_split<F> d = td_split(x);
  td_pair<F> m = td_log_mantissa(d.f);
  m = td_fast_two_sum(m.hi, m.lo);
  td_pair<F> p = td_two_product(m.hi, factor.hi);
  F p_low = p.lo + td_fma(m.hi, factor.lo, m.lo * factor.hi);
  td_pair<F> sum = td_fast_two_sum(d.e * unit.hi, p.hi);
  return td_log_domain(x, sum.hi + (sum.lo + td_fma(d.e, unit.lo, p_low)));
}
template <class F>
TD_FN F td_log2(F x) {
  return td_log_base<F>(x, {td_k<F>(1.0f, 1.0), td_k<F>(0.0f, 0.0)},
                        {td_k<F>(0x1.715476p+0f, 0x1.71547652b82fep+0),
                         td_k<F>(0x1.4ae0c0p-26f, 0x1.777d0ffda0d24p-56)});
}
template <class F>
TD_FN F td_log10(F x) {
  return td_log_base<F>(
      x,
      {td_k<F>(0x1.344p-2f, 0x1.34413509f8p-2), td_k<F>(0x1.3509f8p-18f, -0x1.80433b83b532ap-44)},
      {td_k<F>(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2),
       td_k<F>(-0x1.5b235ep-27f, 0x1.95355baaafad3p-57)});
}

template <class F>
TD_FN F td_log1p(F x) {
  typedef typename td_traits<F>::S S;
  td_pair<F> u = td_two_sum(td_k<F>(1.0f, 1.0), x);
  F r = td_log_sum(u.hi, u.lo / u.hi, td_k<F>(0.0f, 0.0));
  F result = td_log_domain(u.hi, r);
  return x == S(0) ? x : result;
}

template <class F>
TD_FN F td_asinh(F x) {
  typedef typename td_traits<F>::S S;
  const F zero = td_k<F>(0.0f, 0.0);
  const F one = td_k<F>(1.0f, 1.0);
  F a = td_abs(x);
  auto large = a > td_c<F>(0x1p14f, 0x1p28);
  F square = a * a;
  F more = square / (S(1) + td_sqrt(S(1) + square));
  td_pair<F> y = td_two_sum(a, more);
  td_pair<F> u = td_two_sum(one, y.hi);
  F hi = large ? a : u.hi;
  F correction = large ? zero : (u.lo + y.lo) / u.hi;
  F r = td_log_sum(hi, correction, large ? one : zero);
  r = a < td_inf<F>() ? r : a;
  return a < td_c<F>(0x1p-14f, 0x1p-28) ? x : td_copysign(r, x);
}

template <class F>
TD_FN F td_acosh(F x) {
  typedef typename td_traits<F>::S S;
  const F zero = td_k<F>(0.0f, 0.0);
  const F one = td_k<F>(1.0f, 1.0);
  auto large = x > td_c<F>(0x1p14f, 0x1p28);
  td_pair<F> p = td_two_product(x, x);
  td_pair<F> v = td_two_sum(p.hi, -one);
  F v_low = v.lo + p.lo;
  F s = td_sqrt(v.hi);
  F s_low = (td_fma(-s, s, v.hi) + v_low) / (s + s);
  s_low = s > S(0) ? s_low : zero;
  td_pair<F> u = td_two_sum(x, s);
  F hi = large ? x : u.hi;
  F correction = large ? zero : (u.lo + s_low) / u.hi;
  F r = td_log_sum(hi, correction, large ? one : zero);
  r = x < td_inf<F>() ? r : x;
  return x >= S(1) ? r : td_broadcast<F>::of(td_nan<F>());
}

template <class F>
TD_FN F td_atanh(F x) {
  typedef typename td_traits<F>::S S;
  const F zero = td_k<F>(0.0f, 0.0);
  const F one = td_k<F>(1.0f, 1.0);
  F a = td_abs(x);
  td_pair<F> d = td_two_sum(one, -a);
  td_pair<F> q = td_pair_divide<F>({a + a, zero}, d);
  td_pair<F> u = td_two_sum(one, q.hi);
  F r = S(0.5) * td_log_sum(u.hi, (u.lo + q.lo) / u.hi, zero);
  F edge = a == S(1) ? td_broadcast<F>::of(td_inf<F>()) : td_broadcast<F>::of(td_nan<F>());
  r = a < S(1) ? r : edge;
  return a < td_c<F>(0x1p-14f, 0x1p-28) ? x : td_copysign(r, x);
}

// log(x) as a pair good to about 2^-12 ulp, for finite x > 0.
template <class F>
TD_FN td_pair<F> td_log_pair(F x) {
  td_log_split<F> d = td_split(x);
  td_pair<F> den = td_fast_two_sum(td_k<F>(2.0f, 2.0), d.f);
  td_pair<F> s = td_pair_divide<F>({d.f, td_k<F>(0.0f, 0.0)}, den);
  s = td_fast_two_sum(s.hi, s.lo);
  td_pair<F> z = td_two_product(s.hi, s.hi);
  z.lo = td_fma(s.hi + s.hi, s.lo, z.lo);
  td_pair<F> t = td_fast_two_sum(td_k<F>(0x1.555556p-1f, 0x1.5555555555555p-1),
                                 z.hi * td_poly_log_fifth(z.hi));
  t.lo = t.lo + td_c<F>(-0x1.555556p-26f, 0x1.5555555555555p-55);
  td_pair<F> a = td_two_product(z.hi, t.hi);
  a.lo = a.lo + td_fma(z.lo, t.hi, z.hi * t.lo);
  td_pair<F> b = td_two_product(s.hi, a.hi);
  b.lo = b.lo + td_fma(s.hi, a.lo, s.lo * a.hi);
  td_pair<F> m = td_fast_two_sum(s.hi + s.hi, b.hi);
  m.lo = m.lo + td_fma(s.lo, td_k<F>(2.0f, 2.0), b.lo);
  td_pair<F> sum = td_two_sum(d.e * td_c<F>(0x1.62e4p-1f, 0x1.62e42fefa4p-1), m.hi);
  F low = td_fma(d.e, td_k<F>(0x1.7f7d1cp-20f, -0x1.8432a1b0e2634p-43), m.lo);
  return td_fast_two_sum(sum.hi, sum.lo + low);
}

template <class F>
TD_FN F td_pow(F x, F y) {
  typedef typename td_traits<F>::S S;
  const S inf = td_inf<F>();
  const F zero = td_k<F>(0.0f, 0.0);
  const F one = td_k<F>(1.0f, 1.0);
  const F f_inf = td_broadcast<F>::of(inf);
  const F f_nan = td_broadcast<F>::of(td_nan<F>());
  F a = td_abs(x);
  td_pair<F> l = td_log_pair(a);
  td_pair<F> p = td_two_product(y, l.hi);
  F p_low = td_fma(y, l.lo, p.lo);
  F r = td_exp_corrected(p.hi, td_abs(p.hi) < S(2000) ? p_low : zero, 0);
  // Zero, infinite and one-valued magnitudes.
  auto grows = (y > S(0));
  F infinite_a = grows ? f_inf : zero;
  F zero_a = grows ? zero : f_inf;
  F infinite_y = a > S(1) ? infinite_a : zero_a;
  infinite_y = a == S(1) ? one : infinite_y;
  r = td_abs(y) == inf ? infinite_y : r;
  r = a == inf ? infinite_a : r;
  r = a == S(0) ? zero_a : r;
  // Negative bases take the sign of an odd exponent and have no other real power.
  F rounded = td_round(y);
  F half = S(0.5) * y;
  auto odd = (rounded == y) & (td_round(half) != half);
  auto negative = td_sign_bits(x) != td_sign_bits(one);
  F outside = (a > S(0)) & (a < inf) & (rounded != y) ? f_nan : r;
  F signed_r = odd ? -r : outside;
  r = negative ? signed_r : r;
  r = (x != x) | (y != y) ? f_nan : r;
  return (y == S(0)) | (x == S(1)) ? one : r;
}

TAEDA_MATH_END
