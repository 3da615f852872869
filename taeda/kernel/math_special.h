// Error functions, gamma functions and floating-point remainders.
#pragma once

#include "taeda/kernel/math_log.h"
#include "taeda/kernel/math_trig.h"

TAEDA_MATH_BEGIN

template <class F>
TD_FN F td_erf(F x) {
  typedef typename td_traits<F>::S S;
  const S end = td_c<F>(4.0f, 6.0);
  F a = td_abs(x);
  F inner = td_fma(a, td_poly_erf(a * a), a);
  F bounded = a > end ? end : a;
  if constexpr (td_is_single<F>) {
    // erfc(a) = 2^-q, between 2^-26 and 0.3: one exponent holds it, and few bits of it count.
    F q = td_poly_erf_log2(bounded);
    const F magic = td_k<F>(0x1.8p23f - 127.0f, 0.0);
    F t = q + magic;
    F r = (t - magic) - q;
    F power = td_fma(r, td_poly_exp2(r), td_k<F>(1.0f, 1.0));
    // The bits of t end in q - 127: those of 2^-q, negated.
    F scale = td_from_bits(-td_bits(t) << 23);
    return td_copysign(a < S(0.75) ? inner : td_fma(-power, scale, td_k<F>(1.0f, 1.0)), x);
  } else {
    F outer = S(1) - td_exp(-td_poly_erf_log(bounded));
    return td_copysign(a < S(1) ? inner : outer, x);
  }
}

template <class F>
TD_FN F td_erfc(F x) {
  typedef typename td_traits<F>::S S;
  const S end = td_c<F>(11.0f, 28.0);
  F a = td_abs(x);
  F inner = S(1) - td_fma(x, td_poly_erf(x * x), x);
  a = a > end ? end : a;
  td_pair<F> square = td_two_product(a, a);
  td_exp_scaled<F> e = td_exp_parts(-square.hi, -square.lo);
  td_pair<F> w = td_poly_erfcx((a - S(2)) / (a + S(2)));
  td_pair<F> q = td_pair_divide(w, td_two_sum(td_k<F>(1.0f, 1.0), a + a));
  F product = td_fma(e.hi, q.hi, td_fma(e.hi, q.lo, e.lo * q.hi));
  F outer = td_scale_biased(product, e.biased);
  F left = S(2) - outer;
  outer = x < S(0) ? left : outer;
  return a < S(0.46875) ? inner : outer;
}

template <class F>
TD_FN F td_erfinv(F x) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  td_pair<F> log = td_log_pair(td_fma(-a, a, td_k<F>(1.0f, 1.0)));
  F w = -log.hi;
  F s = td_sqrt(w);
  // The rounding errors of w and its root.
  F s_low = w > S(0) ? (td_fma(-s, s, w) - log.lo) / (s + s) : td_k<F>(0.0f, 0.0);
  td_pair<F> p = td_poly_erfinv_outer((s - td_c<F>(3.1f, 3.1)) + s_low);
  if constexpr (!td_is_single<F>) {
    td_pair<F> edge = td_poly_erfinv_edge((s - S(5)) + s_low);
    p = {w > S(16) ? edge.hi : p.hi, w > S(16) ? edge.lo : p.lo};
  }
  td_pair<F> inner = td_poly_erfinv_central((w - S(1)) - log.lo);
  p = {w < S(5) ? inner.hi : p.hi, w < S(5) ? inner.lo : p.lo};
  F r = td_fma(x, p.hi, x * p.lo);
  F end = a == S(1) ? td_copysign(td_broadcast<F>::of(td_inf<F>()), x)
                    : td_broadcast<F>::of(td_nan<F>());
  return a < S(1) ? r : end;
}

// sin(pi x), exact in its reduction.
TD_FN double td_sin_pi(double x) {
  double n = td_round(x);
  double s = td_sin((x - n) * 0x1.921fb54442d18p+1);
  double half = 0.5 * n;
  return td_round(half) != half ? -s : s;
}

// lgamma(2 + z) for -0.6 <= z <= 0.5.
TD_FN double td_lgamma_near_two(double z) {
  td_pair<double> p = td_poly_lgamma(z);
  return td_fma(z, p.hi, z * p.lo);
}
TD_FN double td_lgamma_positive(double x) {
  if (x < 0.5) return td_lgamma_near_two(x) - (td_log(x) + td_log1p(x));
  if (x < 0.7) return td_lgamma_near_two(x - 1.0) - td_log(x);
  if (x < 1.4) {
    td_pair<double> p = td_poly_lgamma_one(x - 1.0);
    return td_fma(x - 1.0, p.hi, (x - 1.0) * p.lo);
  }
  if (x < 2.5) return td_lgamma_near_two(x - 2.0);
  if (x < 10.5) {
    double product = 1.0;
    while (x >= 2.5) {
      x -= 1.0;
      product *= x;
    }
    return td_lgamma_near_two(x - 2.0) + td_log(product);
  }
  double inverse = 1.0 / x;
  double series = inverse * td_poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260,
                                    -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  // 0x1.acfe390c97d69p-2 is log(2 pi)/2 - 1/2.
  return td_fma(x - 0.5, td_log(x) - 1.0, 0x1.acfe390c97d69p-2 + series);
}
TD_SLOW_FN double td_lgamma_scalar(double x) {
  if (x != x) return x;
  double a = td_abs(x);
  if (a == td_inf<double>()) return a;
  if (x > 0.0) return td_lgamma_positive(x);
  if (td_round(x) == x) return td_inf<double>();
  if (a < 0x1p-60) return -td_log(a);
  double reflected = td_abs(x * td_sin_pi(x));
  return td_log(0x1.921fb54442d18p+1 / reflected) - td_lgamma_positive(a);
}

TD_SLOW_FN double td_digamma_scalar(double x) {
  if (x == 0.0) return td_copysign(td_inf<double>(), -x);
  if (x == td_inf<double>()) return x;
  if (!(x > -td_inf<double>())) return td_nan<double>();
  double shift = 0.0;
  if (x < 0.0) {
    if (td_round(x) == x) return td_nan<double>();
    double fraction = x - td_round(x);
    shift = -0x1.921fb54442d18p+1 / td_tan(0x1.921fb54442d18p+1 * fraction);
    x = 1.0 - x;
  }
  td_pair<double> sum = {shift, 0.0};
  while (x < 10.0) {
    td_pair<double> next = td_two_sum(sum.hi, -1.0 / x);
    sum = {next.hi, sum.lo + next.lo};
    x += 1.0;
  }
  double inverse = 1.0 / x;
  double z = inverse * inverse;
  double series = z * td_poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                              -691.0 / 32760, 1.0 / 12);
  td_pair<double> total = td_two_sum(sum.hi, td_log(x));
  return total.hi + (total.lo + sum.lo - (0.5 * inverse + series));
}

// a mod b for finite a >= b > 0: b is raised to within 2^step of a, so that each quotient is exact.
template <class S>
TD_SLOW_FN S td_fmod_scalar(S a, S b) {
  const int shift = td_is_single<S> ? 23 : 52;
  const int step = td_is_single<S> ? 20 : 48;
  const int lift = td_is_single<S> ? 30 : 60;
  const S lift_factor = td_c<S>(0x1p30f, 0x1p60);
  const S least = td_c<S>(0x1p-126f, 0x1p-1022);
  int b_exponent =
      b < least ? (int)(td_bits(b * lift_factor) >> shift) - lift : (int)(td_bits(b) >> shift);
  while (a >= b) {
    int a_exponent =
        a < least ? (int)(td_bits(a * lift_factor) >> shift) - lift : (int)(td_bits(a) >> shift);
    int raise = a_exponent - b_exponent - step;
    S divisor = b;
    for (; raise > 0; raise -= 100) {
      divisor = td_scale2(divisor, (typename td_traits<S>::I)(raise < 100 ? raise : 100));
    }
    S rest = td_fma(-td_trunc(a / divisor), divisor, a);
    a = rest < S(0) ? rest + divisor : rest;
  }
  return a;
}

// Puts the slow remainder into the lanes that mask names.
template <class F, class M>
TD_FN void td_fix_fmod(F& r, F a, F b, M mask) {
  if constexpr (td_traits<F>::is_vector) {
    for (int i = 0; i < (int)(sizeof(F) / sizeof(a[0])); ++i) {
      if (mask[i]) r[i] = td_fmod_scalar<typename td_traits<F>::S>(a[i], b[i]);
    }
  } else {
    if (mask) r = td_fmod_scalar(a, b);
  }
}
TD_FN float td_lgamma(float x) { return (float)td_lgamma_scalar((double)x); }
TD_FN double td_lgamma(double x) { return td_lgamma_scalar(x); }
TD_FN float td_digamma(float x) { return (float)td_digamma_scalar((double)x); }
TD_FN double td_digamma(double x) { return td_digamma_scalar(x); }
#if !defined(__CUDACC__)
template <class F>
TD_FN F td_lgamma(F x) {
  F r;
  for (int i = 0; i < (int)(sizeof(F) / sizeof(x[0])); ++i) r[i] = td_lgamma_scalar(x[i]);
  return r;
}
template <class F>
TD_FN F td_digamma(F x) {
  F r;
  for (int i = 0; i < (int)(sizeof(F) / sizeof(x[0])); ++i) r[i] = td_digamma_scalar(x[i]);
  return r;
}
#endif

// C's fmod: exact, with the sign of x.
template <class F>
TD_FN F td_fmod(F x, F y) {
  typedef typename td_traits<F>::S S;
  F a = td_abs(x);
  F b = td_abs(y);
  F quotient = a / b;
  F r = td_fma(-td_trunc(quotient), b, a);
  F raised = r + b;
  r = r < S(0) ? raised : r;
  r = a < b ? a : r;
  auto defined = (a < td_inf<F>()) & (b > S(0));
  auto far = defined & (b < td_inf<F>()) & !(quotient < td_c<F>(0x1p22f, 0x1p50));
  if (TD_RARE(td_any(far))) td_fix_fmod(r, a, b, far);
  r = defined & (y == y) ? r : td_broadcast<F>::of(td_nan<F>());
  return td_copysign(r, x);
}

// Python's remainder: the sign of y.
template <class F>
TD_FN F td_remainder(F x, F y) {
  typedef typename td_traits<F>::S S;
  F m = td_fmod(x, y);
  F moved = m + y;
  return (m != S(0)) & ((y < S(0)) != (m < S(0))) ? moved : m;
}

// floor(x / y) computed from the exact remainder; x / y where y is zero.
template <class F>
TD_FN F td_div_floor(F x, F y) {
  typedef typename td_traits<F>::S S;
  F m = td_fmod(x, y);
  F quotient = (x - m) / y;
  F lower = quotient - S(1);
  quotient = (m != S(0)) & ((y < S(0)) != (m < S(0))) ? lower : quotient;
  F rounded = td_floor(quotient);
  F above = rounded + S(1);
  rounded = quotient - rounded > S(0.5) ? above : rounded;
  F plain = x / y;
  F zero = td_copysign(td_k<F>(0.0f, 0.0), plain);
  rounded = quotient == S(0) ? zero : rounded;
  return y == S(0) ? plain : rounded;
}

template <class F>
TD_FN F td_div_trunc(F x, F y) {
  return td_trunc(x / y);
}

template <class F>
TD_FN F td_rsqrt(F x) {
  typedef typename td_traits<F>::S S;
  return S(1) / td_sqrt(x);
}

TAEDA_MATH_END
