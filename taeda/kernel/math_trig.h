// Trigonometric functions and their inverses: sin, cos, tan, asin, acos, atan, atan2.
#pragma once

#include "taeda/kernel/math_exp.h"
#include "taeda/kernel/math_polynomials.h"
#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

// x = quadrant pi/2 + hi + lo with |hi| <= pi/4; only the last two bits of quadrant count.
template <class F>
struct td_angle {
  F hi, lo;
  typename td_traits<F>::I quadrant;
};

// The first 1216 bits of 2/pi behind one word of zeros.
TD_TABLE td_ulong td_two_over_pi[20] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
    0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu,
    0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu,
    0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};

TD_FN td_ulong td_multiply_high(td_ulong a, td_ulong b) {
#if defined(__CUDACC__)
  return __umul64hi(a, b);
#else
  return (td_ulong)(((unsigned __int128)a * b) >> 64);
#endif
}

// Payne and Hanek's reduction for 2^16 <= |x|: with x = m 2^e, those bits of 2/pi that give
// multiples of 4 after the product are left out, and the product is taken modulo 2^192 in integers.
TD_SLOW_FN td_angle<double> td_reduce_large(double x) {
  td_ulong bits = (td_ulong)td_bits(x) & 0x7fffffffffffffffu;
  int exponent = (int)(bits >> 52);
  if (exponent == 2047) return {td_nan<double>(), td_nan<double>(), 0};
  td_ulong m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  // The window starts at bit e - 1 of 2/pi, counted from 1; the table has 64 zeros in front.
  int start = exponent - 1075 - 2 + 64;
  int word = start >> 6;
  int shift = start & 63;
  td_ulong w[3];
  for (int i = 0; i < 3; ++i) {
    td_ulong next = shift ? td_two_over_pi[word + i + 1] >> (64 - shift) : 0;
    w[i] = (td_two_over_pi[word + i] << shift) | next;
  }
  td_ulong p2 = m * w[2];
  td_ulong p1 = td_multiply_high(m, w[2]);
  td_ulong low1 = m * w[1];
  p1 += low1;
  td_ulong p0 = m * w[0] + td_multiply_high(m, w[1]) + (p1 < low1 ? 1 : 0);
  // Two integer bits, then the fraction, read as a signed number in [-1/2, 1/2).
  td_ulong quadrant = p0 >> 62;
  td_ulong f0 = (p0 << 2) | (p1 >> 62);
  td_ulong f1 = (p1 << 2) | (p2 >> 62);
  bool negative = (f0 >> 63) != 0;
  if (negative) {
    quadrant += 1;
    f1 = ~f1 + 1;
    f0 = ~f0 + (f1 == 0 ? 1 : 0);
  }
  td_pair<double> sum = td_fast_two_sum((double)(td_long)(f0 >> 32) * 0x1p-32,
                                        (double)(td_long)(f0 & 0xffffffffu) * 0x1p-64);
  double third = (double)(td_long)(f1 >> 32) * 0x1p-96;
  td_pair<double> all = td_two_sum(sum.hi, sum.lo + third);
  double rest = (sum.hi - all.hi) + sum.lo;
  all.lo = rest + third + (double)(td_long)(f1 & 0xffffffffu) * 0x1p-128;
  td_pair<double> r = td_two_product(all.hi, 0x1.921fb54442d18p+0);
  r.lo = r.lo + td_fma(all.hi, 0x1.1a62633145c07p-54, all.lo * 0x1.921fb54442d18p+0);
  r = td_fast_two_sum(r.hi, r.lo);
  if (negative != (td_bits(x) < 0)) r = {-r.hi, -r.lo};
  return {r.hi, r.lo, (td_long)(td_bits(x) < 0 ? 0 - quadrant : quadrant)};
}

TD_FN void td_reduce_large_lane(float x, float& hi, float& lo, int& quadrant) {
  td_angle<double> a = td_reduce_large((double)x);
  hi = (float)a.hi;
  lo = (float)(a.hi - (double)hi);
  quadrant = (int)a.quadrant;
}
TD_FN void td_reduce_large_lane(double x, double& hi, double& lo, td_long& quadrant) {
  td_angle<double> a = td_reduce_large(x);
  hi = a.hi;
  lo = a.lo;
  quadrant = a.quadrant;
}
// Puts the slow reduction into the lanes that mask names.
template <class F, class M>
TD_FN void td_fix_large(td_angle<F>& angle, F x, M mask) {
  if constexpr (td_traits<F>::is_vector) {
    for (int i = 0; i < (int)(sizeof(F) / sizeof(x[0])); ++i) {
      if (!mask[i]) continue;
      typename td_traits<F>::S hi, lo;
      typename td_traits<F>::IS quadrant;
      td_reduce_large_lane(x[i], hi, lo, quadrant);
      angle.hi[i] = hi;
      angle.lo[i] = lo;
      angle.quadrant[i] = quadrant;
    }
  } else {
    if (mask) td_reduce_large_lane(x, angle.hi, angle.lo, angle.quadrant);
  }
}

template <class F>
TD_FN td_angle<F> td_reduce(F x) {
  const F magic = td_k<F>(0x1.8p23f, 0x1.8p52);
  F t = td_fma(x, td_k<F>(0x1.45f306p-1f, 0x1.45f306dc9c883p-1), magic);
  F n = t - magic;
  // pi/2 in three parts; the first step is exact, the second keeps its error.
  F first = td_fma(n, td_k<F>(-0x1.921fb6p+0f, -0x1.921fb54442d18p+0), x);
  td_pair<F> p = td_two_product(n, td_k<F>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54));
  td_pair<F> sum = td_two_sum(first, -p.hi);
  F low = td_fma(n, td_k<F>(0x1.ee59dap-50f, 0x1.f1976b7ed8fbcp-110), sum.lo - p.lo);
  sum = td_fast_two_sum(sum.hi, low);
  td_angle<F> angle = {sum.hi, sum.lo, td_bits(t)};
  auto large = !(td_abs(x) < td_c<F>(0x1p16f, 0x1p27));
  if (TD_RARE(td_any(large))) td_fix_large(angle, x, large);
  return angle;
}

template <class F>
TD_FN td_pair<F> td_sin_pair(F hi, F lo, F z) {
  F tail = td_fma(hi * z, td_poly_sin(z), td_fma(lo * z, td_k<F>(-0.5f, -0.5), lo));
  return td_fast_two_sum(hi, tail);
}
template <class F>
TD_FN td_pair<F> td_cos_pair(F hi, F lo, F z) {
  td_pair<F> sum = td_fast_two_sum(td_k<F>(1.0f, 1.0), z * td_c<F>(-0.5f, -0.5));
  // z itself was rounded; hi*hi - z restores the lost part.
  F z_error = td_fma(hi, hi, -z);
  F tail = td_fma(z * z, td_poly_cos(z), -td_fma(hi, lo, z_error * td_c<F>(0.5f, 0.5)));
  return td_fast_two_sum(sum.hi, sum.lo + tail);
}

// sin for quarter_turns 0, cos for 1.
template <class F>
TD_FN F td_sin_turned(F x, int quarter_turns) {
  td_angle<F> a = td_reduce(x);
  F z = a.hi * a.hi;
  td_pair<F> s = td_sin_pair(a.hi, a.lo, z);
  td_pair<F> c = td_cos_pair(a.hi, a.lo, z);
  typename td_traits<F>::I quadrant = a.quadrant + quarter_turns;
  F r = (quadrant & 1) != 0 ? c.hi : s.hi;
  return (quadrant & 2) != 0 ? -r : r;
}
template <class F>
TD_FN F td_sin(F x) {
  F r = td_sin_turned(x, 0);
  return td_abs(x) < td_c<F>(0x1p-14f, 0x1p-28) ? x : r;
}
template <class F>
TD_FN F td_cos(F x) {
  return td_sin_turned(x, 1);
}

template <class F>
TD_FN F td_tan(F x) {
  td_angle<F> a = td_reduce(x);
  F z = a.hi * a.hi;
  td_pair<F> s = td_sin_pair(a.hi, a.lo, z);
  td_pair<F> c = td_cos_pair(a.hi, a.lo, z);
  auto odd = (a.quadrant & 1) != 0;
  td_pair<F> n = {odd ? -c.hi : s.hi, odd ? -c.lo : s.lo};
  td_pair<F> d = {odd ? s.hi : c.hi, odd ? s.lo : c.lo};
  td_pair<F> q = td_pair_divide(n, d);
  return td_abs(x) < td_c<F>(0x1p-14f, 0x1p-28) ? x : q.hi + q.lo;
}

// atan(y / x) for y, x >= 0, not both infinite or zero, finite and within 2^-100..2^100 of 1.
template <class F>
TD_FN td_pair<F> td_atan_quotient(F y, F x) {
  const F zero = td_k<F>(0.0f, 0.0);
  auto steep = y > x * td_c<F>(0x1.3504f4p+1f, 0x1.3504f333f9de6p+1);
  auto middle = y > x * td_c<F>(0x1.a8279ap-2f, 0x1.a827999fcef32p-2);
  td_pair<F> difference = td_two_sum(y, -x);
  td_pair<F> total = td_two_sum(y, x);
  td_pair<F> n = {middle ? difference.hi : y, middle ? difference.lo : zero};
  td_pair<F> d = {middle ? total.hi : x, middle ? total.lo : zero};
  n = {steep ? -x : n.hi, steep ? zero : n.lo};
  d = {steep ? y : d.hi, steep ? zero : d.lo};
  F offset = middle ? td_k<F>(0x1.921fb6p-1f, 0x1.921fb54442d18p-1) : zero;
  F offset_low = middle ? td_k<F>(-0x1.777a5cp-26f, 0x1.1a62633145c07p-55) : zero;
  offset = steep ? offset + offset : offset;
  offset_low = steep ? offset_low + offset_low : offset_low;
  td_pair<F> t = td_pair_divide(n, d);
  F z = t.hi * t.hi;
  F tail = td_fma(t.hi * z, td_poly_atan(z), t.lo);
  td_pair<F> sum = td_fast_two_sum(offset, t.hi);
  return td_fast_two_sum(sum.hi, sum.lo + (tail + offset_low));
}

template <class F>
TD_FN F td_atan(F x) {
  typedef typename td_traits<F>::S S;
  const S huge = td_c<F>(0x1p30f, 0x1p60);
  F a = td_abs(x);
  td_pair<F> r = td_atan_quotient(a > huge ? huge : a, td_k<F>(1.0f, 1.0));
  return a < td_c<F>(0x1p-14f, 0x1p-28) ? x : td_copysign(r.hi, x);
}

template <class F>
TD_FN F td_atan2(F y, F x) {
  typedef typename td_traits<F>::S S;
  const S inf = td_inf<F>();
  const F zero = td_k<F>(0.0f, 0.0);
  const F one = td_k<F>(1.0f, 1.0);
  F b = td_abs(y);
  F a = td_abs(x);
  // Infinities and zeros as the ordinary angles they stand for.
  F b_of_inf = b == inf ? one : zero;
  F a_of_inf = a == inf ? one : zero;
  auto any_inf = (a == inf) | (b == inf);
  b = any_inf ? b_of_inf : b;
  a = any_inf ? a_of_inf : a;
  a = (a == S(0)) & (b == S(0)) ? one : a;
  F largest = a > b ? a : b;
  F scale = largest > td_c<F>(0x1p60f, 0x1p500) ? td_k<F>(0x1p-60f, 0x1p-500) : one;
  scale = largest < td_c<F>(0x1p-60f, 0x1p-500) ? td_k<F>(0x1p80f, 0x1p560) : scale;
  td_pair<F> r = td_atan_quotient(b * scale, a * scale);
  td_pair<F> turned = td_fast_two_sum(td_k<F>(0x1.921fb6p+1f, 0x1.921fb54442d18p+1), -r.hi);
  F obtuse = turned.hi + (turned.lo + (td_k<F>(-0x1.777a5cp-24f, 0x1.1a62633145c07p-53) - r.lo));
  // With x = -0 and y = 0 the angle is pi as well, so the sign bit decides.
  F left = td_sign_bits(x) != td_sign_bits(one) ? obtuse : r.hi;
  // r.hi of +0 is a true zero: y/x underflowed or y is 0.
  F result = td_copysign(left, y);
  return (x != x) | (y != y) ? x + y : result;
}

// Both arc functions near 1 use asin(x) = pi/2 - 2 asin(sqrt((1-x)/2)).
template <class F>
struct td_arc {
  F small, tail, root, root_tail;
};
template <class F>
TD_FN td_arc<F> td_arc_parts(F a) {
  typedef typename td_traits<F>::S S;
  F z = S(0.5) - S(0.5) * a;
  F s = td_sqrt(z);
  F s_low = td_fma(-s, s, z) / (s + s);
  s_low = z > S(0) ? s_low : td_k<F>(0.0f, 0.0);
  auto inner = a < S(0.5);
  F square = a * a;
  F w = inner ? square : z;
  F p = td_poly_asin(w) * w;
  return {a, a * p, s, td_fma(s, p, s_low)};
}
template <class F>
TD_FN F td_asin(F x) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  td_arc<F> arc = td_arc_parts(a);
  td_pair<F> sum =
      td_fast_two_sum(td_k<F>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0), -(arc.root + arc.root));
  F low =
      td_fma(arc.root_tail, td_k<F>(-2.0f, -2.0), td_k<F>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54));
  F outer = sum.hi + (sum.lo + low);
  F r = a < S(0.5) ? arc.small + arc.tail : outer;
  r = a <= S(1) ? r : td_broadcast<F>::of(td_nan<F>());
  return a < td_c<F>(0x1p-14f, 0x1p-28) ? x : td_copysign(r, x);
}
template <class F>
TD_FN F td_acos(F x) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  td_arc<F> arc = td_arc_parts(a);
  const F half_pi = td_k<F>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0);
  const F half_pi_low = td_k<F>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54);
  td_pair<F> inner = td_fast_two_sum(half_pi, -td_mulsign(arc.small, x));
  F inner_value = inner.hi + (inner.lo + (half_pi_low - td_mulsign(arc.tail, x)));
  F right = S(2) * (arc.root + arc.root_tail);
  td_pair<F> left = td_fast_two_sum(half_pi + half_pi, -(arc.root + arc.root));
  F left_value = left.hi + (left.lo + S(2) * (half_pi_low - arc.root_tail));
  F outer = x < S(0) ? left_value : right;
  F r = a < S(0.5) ? inner_value : outer;
  return a <= S(1) ? r : td_broadcast<F>::of(td_nan<F>());
}

TAEDA_MATH_END
