// Bessel and Airy functions in double precision.
//
// Near zero they are power series. Further out they are modified functions of the second kind,
// K(z), by Temme's continued fraction, which also holds on the imaginary axis: there it gives the
// Bessel functions, whose waves are the parts of exp(-z).
#pragma once

#include "taeda/kernel/called/lanes.h"

TAEDA_MATH_BEGIN

#define TD_EULER_GAMMA 0x1.2788cfc6fb619p-1
#define TD_LN2 0x1.62e42fefa39efp-1
#define TD_PI 0x1.921fb54442d18p+1
#define TD_MOST_STEPS 500

TD_FN double td_magnitude(double z) { return td_abs(z); }
TD_FN double td_magnitude(td_c128 z) { return td_abs(z.re) + td_abs(z.im); }
TD_FN double td_times(double s, double z) { return s * z; }
TD_FN td_c128 td_times(double s, td_c128 z) { return {s * z.re, s * z.im}; }
TD_FN double td_plus(double s, double z) { return s + z; }
TD_FN td_c128 td_plus(double s, td_c128 z) { return {s + z.re, z.im}; }
TD_FN double td_reciprocal(double z) { return 1.0 / z; }
TD_FN td_c128 td_reciprocal(td_c128 z) { return td_c128{1.0, 0.0} / z; }

// K of the orders mu and mu + 1 times exp(z) sqrt(2 z / pi).
template <class Z>
struct td_scaled_second {
  Z low, high;
};

// For |mu| <= 1/2 and |z| >= 2, off the negative axis.
template <class Z>
TD_SLOW_FN td_scaled_second<Z> td_modified_second(double mu, Z z) {
  const double first = 0.25 - mu * mu;
  Z b = td_times(2.0, td_plus(1.0, z)), d = td_reciprocal(b), fraction = d, step = d;
  double a = -first, c = first;
  Z before = {}, last = td_plus(1.0, Z{}), q = td_times(first, last);
  Z sum = td_plus(1.0, q * step);
  for (int i = 2; i < TD_MOST_STEPS; ++i) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const Z next = td_times(1.0 / a, before - b * last);
    before = last;
    last = next;
    q = q + td_times(c, next);
    b = td_plus(2.0, b);
    d = td_reciprocal(b + td_times(a, d));
    step = step * td_plus(-1.0, b * d);
    fraction = fraction + step;
    const Z change = q * step;
    sum = sum + change;
    if (!(td_magnitude(change) >= 0x1p-53 * td_magnitude(sum))) break;
  }
  const Z low = td_reciprocal(sum);
  return {low, low * (td_plus(mu + 0.5, z) - td_times(first, fraction)) / z};
}

// Power series in y, which is x * x / 4 or its negative: those of the functions of the first kind,
// and those that go beside the logarithm in the second kind. The first function of order 1 is
// x / 2 * first_1.
struct td_bessel_series {
  double first_0, first_1, beside_0, beside_1;
};

TD_SLOW_FN td_bessel_series td_bessel_series_at(double y) {
  td_bessel_series s = {1.0, 1.0, 0.0, 1.0 - 2.0 * TD_EULER_GAMMA};
  double term_0 = 1.0, term_1 = 1.0, harmonic = 0.0, digammas = s.beside_1;
  for (int k = 1; k < TD_MOST_STEPS; ++k) {
    term_0 *= y / (k * k);
    term_1 *= y / (k * (k + 1.0));
    harmonic += 1.0 / k;
    digammas += 1.0 / k + 1.0 / (k + 1);
    s.first_0 += term_0;
    s.first_1 += term_1;
    s.beside_0 += term_0 * harmonic;
    s.beside_1 += term_1 * digammas;
    if (td_abs(term_0 * harmonic) < 0x1p-53 * td_abs(s.beside_0)) break;
  }
  return s;
}

// J + i Y of order 0 or 1 for x >= 6, the first argument of waves.
#define TD_FIRST_WAVE 6.0
TD_FN td_c128 td_bessel_wave(int order, double x) {
  const td_scaled_second<td_c128> k = td_modified_second(0.0, td_c128{0.0, -x});
  const double sine = td_sin(x), cosine = td_cos(x), size = td_sqrt(1.0 / (TD_PI * x));
  // exp(i (x - order pi / 2 - pi / 4)), from exact parts.
  const td_c128 turn =
      order == 0 ? td_c128{cosine + sine, sine - cosine} : td_c128{sine - cosine, -(cosine + sine)};
  return td_times(size, turn) * (order == 0 ? k.low : k.high);
}

TD_SLOW_FN double td_bessel_j0_at(double x) {
  x = td_abs(x);
  return x < TD_FIRST_WAVE ? td_bessel_series_at(-x * x / 4.0).first_0 : td_bessel_wave(0, x).re;
}
TD_SLOW_FN double td_bessel_j1_at(double x) {
  const double a = td_abs(x);
  if (a < TD_FIRST_WAVE) return x / 2.0 * td_bessel_series_at(-x * x / 4.0).first_1;
  return td_copysign(1.0, x) * td_bessel_wave(1, a).re;
}
TD_SLOW_FN double td_bessel_y0_at(double x) {
  if (x <= 0.0) return x == 0.0 ? -td_inf<double>() : td_nan<double>();
  if (!(x < TD_FIRST_WAVE)) return td_bessel_wave(0, x).im;
  const td_bessel_series s = td_bessel_series_at(-x * x / 4.0);
  return 2.0 / TD_PI * ((td_log(x) - TD_LN2 + TD_EULER_GAMMA) * s.first_0 - s.beside_0);
}
TD_SLOW_FN double td_bessel_y1_at(double x) {
  if (x <= 0.0) return x == 0.0 ? -td_inf<double>() : td_nan<double>();
  if (!(x < TD_FIRST_WAVE)) return td_bessel_wave(1, x).im;
  const td_bessel_series s = td_bessel_series_at(-x * x / 4.0);
  return (td_log(x) - TD_LN2) * x / TD_PI * s.first_1 - 2.0 / (TD_PI * x) -
         x / (2.0 * TD_PI) * s.beside_1;
}

// I of order 0 or 1 times exp(-x), for x >= 0. Near zero the power series; further out, where its
// last terms are large, the one in 1 / x.
TD_FN double td_scaled_modified_i(int order, double x) {
  if (x < 32.0) {
    const td_bessel_series s = td_bessel_series_at(x * x / 4.0);
    return td_exp(-x) * (order == 0 ? s.first_0 : x / 2.0 * s.first_1);
  }
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < TD_MOST_STEPS && td_abs(term) > 0x1p-53; ++k) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - 4 * order) / (8 * k * x);
    sum += term;
  }
  return sum / td_sqrt(2.0 * TD_PI * x);
}

// K of order 0 or 1, times exp(x) where it is scaled.
TD_SLOW_FN double td_modified_k(int order, double x, bool is_scaled) {
  if (x <= 0.0) return x == 0.0 ? td_inf<double>() : td_nan<double>();
  if (x == td_inf<double>()) return 0.0;
  if (!(x <= 2.0)) {
    const td_scaled_second<double> k = td_modified_second(0.0, x);
    const double size = td_sqrt(TD_PI / (2.0 * x)) * (is_scaled ? 1.0 : td_exp(-x));
    return size * (order == 0 ? k.low : k.high);
  }
  const td_bessel_series s = td_bessel_series_at(x * x / 4.0);
  const double log_half = td_log(x) - TD_LN2;
  const double value = order == 0 ? s.beside_0 - (log_half + TD_EULER_GAMMA) * s.first_0
                                  : 1.0 / x + x / 2.0 * (log_half * s.first_1 - s.beside_1 / 2.0);
  return is_scaled ? value * td_exp(x) : value;
}
TD_FN double td_modified_bessel_k0_at(double x) { return td_modified_k(0, x, false); }
TD_FN double td_modified_bessel_k1_at(double x) { return td_modified_k(1, x, false); }
TD_FN double td_scaled_modified_bessel_k0_at(double x) { return td_modified_k(0, x, true); }
TD_FN double td_scaled_modified_bessel_k1_at(double x) { return td_modified_k(1, x, true); }

TD_FN double td_airy_series(double x) {
  const double value_at_zero = 0.35502805388781723926, slope_at_zero = -0.25881940379280679840;
  const double cube = x * x * x;
  double even = 1.0, odd = x, even_term = 1.0, odd_term = x;
  for (int k = 3; k < TD_MOST_STEPS; k += 3) {
    even_term *= cube / (k * (k - 1.0));
    odd_term *= cube / (k * (k + 1.0));
    even += even_term;
    odd += odd_term;
    if (td_abs(even_term) + td_abs(odd_term) < 0x1p-53) break;
  }
  return value_at_zero * even + slope_at_zero * odd;
}

// Beyond the series Ai is K of order 1/3 at 2/3 x^(3/2); to the left, where that is imaginary, the
// sum of two conjugate values.
TD_SLOW_FN double td_airy_ai_at(double x) {
  if (td_isinf(x)) return td_nan<double>();
  if (x > -5.0 && x < 2.0) return td_airy_series(x);
  const double size = td_abs(x), zeta = 2.0 / 3 * size * td_sqrt(size);
  const double scale = 1.0 / (2.0 * td_sqrt(TD_PI * td_sqrt(size)));
  if (x > 0.0) return scale * td_exp(-zeta) * td_modified_second(1.0 / 3, zeta).low;
  const td_c128 k = td_modified_second(1.0 / 3, td_c128{0.0, zeta}).low;
  const double angle = TD_PI / 4.0 - zeta;
  return 2.0 * scale * (td_c128{td_cos(angle), td_sin(angle)} * k).re;
}

TD_SLOW_FN double td_spherical_bessel_j0_at(double x) {
  if (td_isinf(x)) return 0.0;
  return x == 0.0 ? 1.0 : td_sin(x) / x;
}

TD_CALLED(airy_ai)
TD_CALLED(bessel_j0)
TD_CALLED(bessel_j1)
TD_CALLED(bessel_y0)
TD_CALLED(bessel_y1)
TD_CALLED(modified_bessel_k0)
TD_CALLED(modified_bessel_k1)
TD_CALLED(scaled_modified_bessel_k0)
TD_CALLED(scaled_modified_bessel_k1)
TD_CALLED(spherical_bessel_j0)

TAEDA_MATH_END
