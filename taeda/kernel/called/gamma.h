// Incomplete gamma functions, the zeta function of Hurwitz and derivatives of digamma: loops that
// end where their terms no longer count, in double precision.
#pragma once

#include "taeda/kernel/called/lanes.h"

TAEDA_MATH_BEGIN

// The sum of (k + q)^-s over k = 0, 1, ...: terms one by one up to 10, then the formula of Euler
// and Maclaurin.
TD_SLOW_FN double td_zeta_sum(double s, double q) {
  double sum = 0.0;
  for (; q < 10.0; q += 1.0) {
    double term = td_pow(q, -s);
    sum += term;
    if (q > 0.0 && term <= 0x1p-54 * sum) return sum;
  }
  double last = td_pow(q, -s);
  sum += last * q / (s - 1.0) + 0.5 * last;
  // B(2j) / (2j)!
  const double ratios[] = {1.0 / 12,
                           -1.0 / 720,
                           1.0 / 30240,
                           -1.0 / 1209600,
                           1.0 / 47900160,
                           -691.0 / 1307674368000.0,
                           1.0 / 74724249600.0,
                           -3617.0 / 10670622842880000.0,
                           43867.0 / 5109094217170944000.0,
                           -174611.0 / 802857662698291200000.0};
  double factor = s;
  double power = last / q;
  for (int j = 0; j < 10; ++j) {
    double term = ratios[j] * factor * power;
    sum += term;
    if (td_abs(term) <= 0x1p-54 * td_abs(sum)) break;
    factor *= (s + (2 * j + 1)) * (s + (2 * j + 2));
    power /= q * q;
  }
  return sum;
}

// The zeta function of Hurwitz. Far below zero the terms with k + q < 0 are those of a sum that
// begins above zero, but for their sign, up to its m-th.
TD_SLOW_FN double td_zeta_at(double s, double q) {
  if (s == 1.0) return td_inf<double>();
  if (!(s > 1.0) || q != q) return td_nan<double>();
  if (q <= 0.0) {
    if (td_floor(q) == q) return td_inf<double>();
    if (td_floor(s) != s) return td_nan<double>();
  }
  if (q == td_inf<double>()) return 0.0;
  if (q > -64.0) return td_zeta_sum(s, q);
  const double m = -td_floor(q), fraction = q + m;
  const double below = td_zeta_sum(s, 1.0 - fraction) - td_zeta_sum(s, m + 1.0 - fraction);
  return td_zeta_sum(s, fraction) + (td_fmod(s, 2.0) == 0.0 ? below : -below);
}

// log(1 + u) - u, without cancellation near zero.
TD_FN double td_log1p_minus(double u) {
  if (td_abs(u) > 0.3) return td_log1p(u) - u;
  double power = -u * u, sum = 0.0;
  for (int k = 2; k < 60; ++k) {
    double term = power / k;
    sum += term;
    if (td_abs(term) <= 0x1p-54 * td_abs(sum)) break;
    power *= -u;
  }
  return sum;
}

// x^a e^-x / Gamma(a + 1)
TD_FN double td_gamma_density(double a, double x) {
  if (a < 10.0) return td_exp(a * td_log(x) - x - td_lgamma_scalar(a + 1.0));
  double inverse = 1.0 / a;
  double series = inverse * td_poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260,
                                    -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  // 0x1.921fb54442d18p+2 is 2 pi.
  return td_exp(a * td_log1p_minus((x - a) / a) - series) / td_sqrt(0x1.921fb54442d18p+2 * a);
}

// The lower function, by its power series.
TD_FN double td_igamma_series(double a, double x) {
  double term = 1.0, sum = 1.0, n = a;
  for (int k = 0; k < 100000; ++k) {
    n += 1.0;
    term *= x / n;
    sum += term;
    if (term <= 0x1p-54 * sum) break;
  }
  return td_gamma_density(a, x) * sum;
}
// The upper function, by its continued fraction.
TD_FN double td_igammac_fraction(double a, double x) {
  const double least = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / least, d = 1.0 / b, h = d;
  for (int k = 1; k < 100000; ++k) {
    double n = -k * (k - a);
    b += 2.0;
    d = n * d + b;
    d = 1.0 / (td_abs(d) < least ? least : d);
    c = b + n / c;
    c = td_abs(c) < least ? least : c;
    double factor = d * c;
    h *= factor;
    if (td_abs(factor - 1.0) <= 0x1p-54) break;
  }
  return td_gamma_density(a, x) * a * h;
}

// `is_upper`: one minus the lower function, exact where it is small.
TD_SLOW_FN double td_incomplete_gamma(double a, double x, bool is_upper) {
  const double none = is_upper ? 1.0 : 0.0, all = is_upper ? 0.0 : 1.0;
  if (!(a >= 0.0) || !(x >= 0.0)) return td_nan<double>();
  if (a == 0.0) return x > 0.0 ? all : td_nan<double>();
  if (x == 0.0) return none;
  if (a == td_inf<double>()) return x == a ? td_nan<double>() : none;
  if (x == td_inf<double>()) return all;
  if (x > 1.0 && x > a) {
    double upper = td_igammac_fraction(a, x);
    return is_upper ? upper : 1.0 - upper;
  }
  double lower = td_igamma_series(a, x);
  return is_upper ? 1.0 - lower : lower;
}
TD_FN double td_igamma_at(double a, double x) { return td_incomplete_gamma(a, x, false); }
TD_FN double td_igammac_at(double a, double x) { return td_incomplete_gamma(a, x, true); }

// The product of 1 to n, with the bits that each step rounds off; infinity where it leaves the
// type.
TD_FN double td_factorial(double n) {
  if (n > 170.0) return td_inf<double>();
  td_pair<double> product = {1.0, 0.0};
  for (double k = 2.0; k <= n; k += 1.0) {
    td_pair<double> next = td_two_product(product.hi, k);
    product = {next.hi, td_fma(product.lo, k, next.lo)};
  }
  return product.hi + product.lo;
}

// The n-th derivative of digamma, for a whole n >= 0.
TD_SLOW_FN double td_polygamma_at(double n, double x) {
  if (n == 0.0) return td_digamma_scalar(x);
  const double size = td_factorial(n) * td_zeta_at(n + 1.0, x);
  return td_fmod(n, 2.0) == 1.0 ? size : -size;
}

TD_CALLED(zeta)
TD_CALLED(igamma)
TD_CALLED(igammac)
TD_CALLED(polygamma)

TAEDA_MATH_END
