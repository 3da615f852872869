// Complex functions of one element, from the real functions of this folder.
#pragma once

#include "taeda/kernel/math_log.h"
#include "taeda/kernel/math_special.h"
#include "taeda/kernel/math_trig.h"

TAEDA_MATH_BEGIN

// sqrt(x^2 + y^2) without overflow, within an ulp.
template <class F>
TD_FN F td_hypot(F x, F y) {
  typedef typename td_traits<F>::S S;
  const F one = td_k<F>(1.0f, 1.0);
  F a = td_abs(x), b = td_abs(y);
  F high = a > b ? a : b;
  F down = high > td_c<F>(0x1p60f, 0x1p500) ? td_k<F>(0x1p-70f, 0x1p-530) : one;
  F scale = high < td_c<F>(0x1p-40f, 0x1p-400) ? td_k<F>(0x1p70f, 0x1p530) : down;
  F back = high < td_c<F>(0x1p-40f, 0x1p-400) ? td_k<F>(0x1p-70f, 0x1p-530) : one;
  back = high > td_c<F>(0x1p60f, 0x1p500) ? td_k<F>(0x1p70f, 0x1p530) : back;
  a = a * scale;
  b = b * scale;
  td_pair<F> a2 = td_two_product(a, a), b2 = td_two_product(b, b);
  td_pair<F> sum = td_two_sum(a2.hi, b2.hi);
  F low = sum.lo + (a2.lo + b2.lo);
  F root = td_sqrt(sum.hi);
  F rest = (td_fma(-root, root, sum.hi) + low) / (root + root);
  F r = root > S(0) ? (root + rest) * back : root;
  auto infinite = (td_abs(x) == td_inf<F>()) | (td_abs(y) == td_inf<F>());
  return infinite ? td_broadcast<F>::of(td_inf<F>()) : r;
}

template <class S>
struct td_complex {
  S re, im;
};
typedef td_complex<float> td_c64;
typedef td_complex<double> td_c128;

// a * b, rounded before it is added to anything. GCC 12 fuses the sums and differences of complex
// products into fmaddsub for all of -ffp-contract=off; it does not look through this barrier.
template <class S>
TD_FN S td_product(S a, S b) {
#if !defined(__CUDACC__) && defined(__GNUC__) && !defined(__clang__)
  return __builtin_assoc_barrier(a * b);
#else
  return a * b;
#endif
}

template <class S>
TD_FN td_complex<S> operator+(td_complex<S> a, td_complex<S> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class S>
TD_FN td_complex<S> operator-(td_complex<S> a, td_complex<S> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class S>
TD_FN td_complex<S> operator-(td_complex<S> a) {
  return {-a.re, -a.im};
}
template <class S>
TD_FN td_complex<S> operator*(td_complex<S> a, td_complex<S> b) {
  return {td_product(a.re, b.re) - td_product(a.im, b.im),
          td_product(a.re, b.im) + td_product(a.im, b.re)};
}
// Smith's quotient, scaled by the larger part of b.
template <class S>
TD_FN td_complex<S> operator/(td_complex<S> a, td_complex<S> b) {
  if (td_abs(b.re) >= td_abs(b.im)) {
    if (b.re == S(0) && b.im == S(0)) return {a.re / td_abs(b.re), a.im / td_abs(b.im)};
    S ratio = b.im / b.re;
    S scale = S(1) / (b.re + b.im * ratio);
    return {(a.re + td_product(a.im, ratio)) * scale, (a.im - td_product(a.re, ratio)) * scale};
  }
  S ratio = b.re / b.im;
  S scale = S(1) / (b.im + b.re * ratio);
  return {(td_product(a.re, ratio) + a.im) * scale, (td_product(a.im, ratio) - a.re) * scale};
}
template <class S>
TD_FN bool operator==(td_complex<S> a, td_complex<S> b) {
  return a.re == b.re && a.im == b.im;
}
template <class S>
TD_FN bool operator!=(td_complex<S> a, td_complex<S> b) {
  return !(a == b);
}
template <class S>
TD_FN S td_real(td_complex<S> z) {
  return z.re;
}
template <class S>
TD_FN S td_imag(td_complex<S> z) {
  return z.im;
}
template <class S>
TD_FN td_complex<S> td_conj(td_complex<S> z) {
  return {z.re, -z.im};
}
template <class S>
TD_FN td_complex<S> td_make_complex(S re, S im) {
  return {re, im};
}
template <class S>
TD_FN S td_abs(td_complex<S> z) {
  return td_hypot(z.re, z.im);
}
template <class S>
TD_FN bool td_isnan(td_complex<S> z) {
  return z.re != z.re || z.im != z.im;
}
template <class S>
TD_FN bool td_isinf(td_complex<S> z) {
  return td_abs(z.re) == td_inf<S>() || td_abs(z.im) == td_inf<S>();
}
template <class S>
TD_FN bool td_isfinite(td_complex<S> z) {
  return td_abs(z.re) < td_inf<S>() && td_abs(z.im) < td_inf<S>();
}

// r (cos t + i sin t), where an exact zero angle or an infinite radius keeps its parts defined. The
// sign of a NaN angle is the machine's choice and must not become that of a zero.
template <class S>
TD_FN td_complex<S> td_polar(S r, S t) {
  if (t == S(0)) return {r, t};
  if (r == S(0) && t != t) return {r, r};
  if (r == S(0) && td_abs(t) == td_inf<S>()) return {r, td_copysign(r, t)};
  if (r == td_inf<S>() && !(td_abs(t) < td_inf<S>())) return {r, td_nan<S>()};
  return {r * td_cos(t), r * td_sin(t)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_exp(td_complex<S> z) {
  const S limit = td_c<S>(88.0f, 709.0);
  if (!(td_abs(z.im) < td_inf<S>()) && td_abs(z.re) < td_inf<S>())
    return {td_nan<S>(), td_nan<S>()};
  if (z.re > limit && z.re < S(2) * limit && td_abs(z.im) < td_inf<S>() && z.im != S(0)) {
    // Half of the exponent at a time: the parts may be finite where e^re is not.
    S half = td_exp(z.re * S(0.5));
    return {half * td_cos(z.im) * half, half * td_sin(z.im) * half};
  }
  return td_polar(td_exp(z.re), z.im);
}
template <class S>
TD_SLOW_FN td_complex<S> td_log(td_complex<S> z) {
  S a = td_abs(z.re), b = td_abs(z.im);
  S high = a > b ? a : b, low = a > b ? b : a;
  S angle = td_atan2(z.im, z.re);
  S r = td_hypot(a, b);
  // Next to the unit circle the modulus loses the digits that its logarithm needs.
  if (r > S(0.7) && r < S(1.5)) {
    return {S(0.5) * td_log1p(td_fma(low, low, (high - S(1)) * (high + S(1)))), angle};
  }
  if (high < td_inf<S>() && r == td_inf<S>()) {
    r = td_hypot(a * S(0.25), b * S(0.25));
    return {td_log(r) + td_c<S>(0x1.62e430p+0f, 0x1.62e42fefa39efp+0), angle};
  }
  return {td_log(r), angle};
}
template <class S>
TD_SLOW_FN td_complex<S> td_sqrt(td_complex<S> z) {
  S a = td_abs(z.re), b = td_abs(z.im);
  if (b == td_inf<S>()) return {b, z.im};
  if (a == S(0) && b == S(0)) return {S(0), z.im};
  if (a == td_inf<S>()) {
    S other = z.im != z.im ? z.im : td_copysign(S(0), z.im);
    S side = z.im != z.im ? z.im : S(0);
    return z.re > S(0) ? td_complex<S>{a, other} : td_complex<S>{side, td_copysign(a, z.im)};
  }
  S high = a > b ? a : b;
  S scale = high > td_c<S>(0x1p120f, 0x1p1000) ? S(0.0625) : S(1);
  S back = scale == S(1) ? S(1) : S(4);
  if (high < td_c<S>(0x1p-100f, 0x1p-900)) {
    scale = td_c<S>(0x1p60f, 0x1p600);
    back = td_c<S>(0x1p-30f, 0x1p-300);
  }
  a = a * scale;
  b = b * scale;
  S t = td_sqrt((a + td_hypot(a, b)) * S(0.5));
  S u = b / (t + t);
  t = t * back;
  u = u * back;
  return z.re < S(0) ? td_complex<S>{u, td_copysign(t, z.im)}
                     : td_complex<S>{t, td_copysign(u, z.im)};
}
// Whether the real part is infinite and the imaginary one, an angle here, is not a finite number.
template <class S>
TD_FN bool td_is_without_angle(td_complex<S> z) {
  return td_abs(z.re) == td_inf<S>() && !(td_abs(z.im) < td_inf<S>());
}
template <class S>
TD_SLOW_FN td_complex<S> td_sinh(td_complex<S> z) {
  if (z.im == S(0)) return {td_sinh(z.re), z.im};
  if (z.re == S(0)) return {z.re, td_sin(z.im)};
  if (td_is_without_angle(z)) return {z.re, td_nan<S>()};
  return {td_sinh(z.re) * td_cos(z.im), td_cosh(z.re) * td_sin(z.im)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_cosh(td_complex<S> z) {
  if (z.im == S(0)) return {td_cosh(z.re), td_mulsign(z.im, z.re)};
  if (z.re == S(0)) return {td_cos(z.im), td_mulsign(z.re, z.im)};
  if (td_is_without_angle(z)) return {td_abs(z.re), td_nan<S>()};
  return {td_cosh(z.re) * td_cos(z.im), td_sinh(z.re) * td_sin(z.im)};
}
// Kahan's formula; beyond the limit the real part is 1.
template <class S>
TD_SLOW_FN td_complex<S> td_tanh(td_complex<S> z) {
  const S limit = td_c<S>(11.0f, 22.0);
  if (z.im == S(0)) return {td_tanh(z.re), z.im};
  if (z.re == S(0)) return {z.re, td_tan(z.im)};
  S a = td_abs(z.re);
  if (a > limit) {
    if (a == td_inf<S>()) {
      S turn = td_abs(z.im) < a ? td_sin(z.im + z.im) : S(1);
      return {td_copysign(S(1), z.re), td_copysign(S(0), turn)};
    }
    S e = td_exp(-a);
    return {td_copysign(S(1), z.re) + (z.im - z.im), S(4) * td_sin(z.im) * td_cos(z.im) * e * e};
  }
  S t = td_tan(z.im), s = td_sinh(z.re);
  S beta = S(1) + t * t;
  S rho = td_sqrt(S(1) + s * s);
  S d = S(1) + beta * s * s;
  return {beta * rho * s / d, t / d};
}
// f(i z) / i for the odd and f(i z) for the even functions.
template <class S>
TD_FN td_complex<S> td_times_i(td_complex<S> z) {
  return {-z.im, z.re};
}
template <class S>
TD_FN td_complex<S> td_over_i(td_complex<S> z) {
  return {z.im, -z.re};
}
template <class S>
TD_FN td_complex<S> td_sin(td_complex<S> z) {
  return td_over_i(td_sinh(td_times_i(z)));
}
template <class S>
TD_FN td_complex<S> td_cos(td_complex<S> z) {
  return td_cosh(td_times_i(z));
}
template <class S>
TD_FN td_complex<S> td_tan(td_complex<S> z) {
  return td_over_i(td_tanh(td_times_i(z)));
}
// asinh where a part is infinite or NaN, as C's annex G has it.
template <class S>
TD_SLOW_FN td_complex<S> td_asinh_unbounded(td_complex<S> z) {
  const S quarter = td_c<S>(0x1.921fb6p-1f, 0x1.921fb54442d18p-1);  // of pi
  const S inf = td_inf<S>(), nan = td_nan<S>();
  if (td_abs(z.re) == inf) {
    S turn = td_abs(z.im) == inf ? quarter : S(0);
    return {z.re, z.im != z.im ? nan : td_copysign(turn, z.im)};
  }
  if (td_abs(z.im) == inf && z.re != z.re) return {inf, nan};
  if (td_abs(z.im) == inf) return {td_copysign(inf, z.re), td_copysign(quarter + quarter, z.im)};
  return {nan, z.im == S(0) ? z.im : nan};
}
template <class S>
TD_FN td_complex<S> td_asin_unbounded(td_complex<S> z) {
  return td_over_i(td_asinh_unbounded(td_times_i(z)));
}
template <class S>
TD_FN td_complex<S> td_acos_unbounded(td_complex<S> z) {
  td_complex<S> s = td_asin_unbounded(z);
  return {td_c<S>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0) - s.re, -s.im};
}
template <class S>
TD_SLOW_FN td_complex<S> td_asin(td_complex<S> z) {
  if (!td_isfinite(z)) return td_asin_unbounded(z);
  td_complex<S> below = td_sqrt(td_complex<S>{S(1) - z.re, -z.im});
  td_complex<S> above = td_sqrt(td_complex<S>{S(1) + z.re, z.im});
  return {td_atan2(z.re, below.re * above.re - below.im * above.im),
          td_asinh(below.re * above.im - below.im * above.re)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_acos(td_complex<S> z) {
  if (!td_isfinite(z)) return td_acos_unbounded(z);
  td_complex<S> below = td_sqrt(td_complex<S>{S(1) - z.re, -z.im});
  td_complex<S> above = td_sqrt(td_complex<S>{S(1) + z.re, z.im});
  return {S(2) * td_atan2(below.re, above.re), td_asinh(above.re * below.im - above.im * below.re)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_acosh(td_complex<S> z) {
  if (!td_isfinite(z)) {
    td_complex<S> c = td_acos_unbounded(z);
    return {td_abs(c.im), z.im != z.im ? c.re : td_copysign(c.re, z.im)};
  }
  td_complex<S> below = td_sqrt(td_complex<S>{z.re - S(1), z.im});
  td_complex<S> above = td_sqrt(td_complex<S>{z.re + S(1), z.im});
  return {td_asinh(below.re * above.re + below.im * above.im), S(2) * td_atan2(below.im, above.re)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_atanh(td_complex<S> z) {
  const S half_pi = td_c<S>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0);
  S a = td_abs(z.re), b = td_abs(z.im);
  if (b == td_inf<S>() || (a == td_inf<S>() && b == b))
    return {z.re < S(0) ? -S(0) : S(0), td_copysign(half_pi, z.im)};
  if (b != b && (a == S(0) || a == td_inf<S>())) return {td_copysign(S(0), z.re), b};
  S high = a > b ? a : b;
  if (high > td_c<S>(0x1p60f, 0x1p500) &&
      !td_isnan(z)) {  // where squares overflow: atanh(z) - i pi / 2 = 1 / z
    S low = a > b ? b / a : a / b;
    return {td_copysign(a / high / high / (S(1) + low * low), z.re), td_copysign(half_pi, z.im)};
  }
  S far = S(1) - a;
  S re = S(0.25) * td_log1p(S(4) * a / (far * far + z.im * z.im));
  S im = S(0.5) * td_atan2(z.im + z.im, far * (S(1) + a) - z.im * z.im);
  return {td_copysign(re, z.re), im};
}
template <class S>
TD_FN td_complex<S> td_asinh(td_complex<S> z) {
  return td_over_i(td_asin(td_times_i(z)));
}
template <class S>
TD_FN td_complex<S> td_atan(td_complex<S> z) {
  return td_over_i(td_atanh(td_times_i(z)));
}
template <class S>
TD_SLOW_FN td_complex<S> td_pow(td_complex<S> z, td_complex<S> w) {
  if (w.re == S(0) && w.im == S(0)) return {S(1), S(0)};
  if (z.re == S(0) && z.im == S(0) && w.re > S(0)) return {S(0), S(0)};
  return td_exp(w * td_log(z));
}
template <class S>
TD_FN td_complex<S> td_rsqrt(td_complex<S> z) {
  return td_complex<S>{S(1), S(0)} / td_sqrt(z);
}
template <class S>
TD_FN td_complex<S> td_exp2(td_complex<S> z) {
  const S ln2 = td_c<S>(0x1.62e430p-1f, 0x1.62e42fefa39efp-1);
  return td_exp(td_complex<S>{z.re * ln2, z.im * ln2});
}
template <class S>
TD_FN td_complex<S> td_expm1(td_complex<S> z) {
  S half = td_sin(S(0.5) * z.im);
  S e = td_expm1(z.re);
  // e^x cos y - 1 = expm1(x) cos y - 2 sin(y/2)^2
  return {e * td_cos(z.im) - S(2) * half * half, (e + S(1)) * td_sin(z.im)};
}
template <class S>
TD_SLOW_FN td_complex<S> td_log1p(td_complex<S> z) {
  S square = (S(2) + z.re) * z.re + z.im * z.im;
  td_complex<S> plain = td_log(td_complex<S>{S(1) + z.re, z.im});
  return td_abs(square) < S(0.5) ? td_complex<S>{S(0.5) * td_log1p(square), plain.im} : plain;
}
template <class S>
TD_FN td_complex<S> td_log2(td_complex<S> z) {
  const S factor = td_c<S>(0x1.715476p+0f, 0x1.71547652b82fep+0);
  td_complex<S> l = td_log(z);
  return {l.re * factor, l.im * factor};
}
template <class S>
TD_FN td_complex<S> td_log10(td_complex<S> z) {
  const S factor = td_c<S>(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2);
  td_complex<S> l = td_log(z);
  return {l.re * factor, l.im * factor};
}

TAEDA_MATH_END
