// Orthogonal polynomials of degrees that are too high for their recurrences, in double precision:
// Legendre polynomials by the series of Stieltjes in the middle and that of Szego in Bessel
// functions near the ends; Laguerre polynomials by Erdelyi's uniform formula.
//
// The formulas hold for every argument but those where the polynomial is 1 or counts up; beside a
// share of about 1 / n^2 of the wave's size, the error is that of an argument changed by its last
// bit. What leaves the type is NaN, as it is after a recurrence.
#pragma once

#include "taeda/kernel/called/bessel.h"

TAEDA_MATH_BEGIN

// value * exp(power), where the exponential alone may be too large.
TD_FN double td_times_exp(double value, double power) {
  const double half = td_exp(power / 2.0);
  return value * half * half;
}

// cos(n pi / 2 - angle)
TD_FN double td_turned_cosine(td_long n, double angle) {
  const double value = n % 2 == 0 ? td_cos(angle) : td_sin(angle);
  return n % 4 < 2 ? value : -value;
}

// For 0 <= x <= 1/2. The angle counts from the middle, where a small x has all its bits.
TD_FN double td_legendre_in_the_middle(double x, td_long n) {
  const double count = (double)n, angle = td_asin(x);
  const double sine = 2.0 * td_sqrt((1.0 - x) * (1.0 + x));
  const double w = count + 0.75;
  // 0x1.20dd750429b6dp+0 is 2 / sqrt(pi).
  double factor = 0x1.20dd750429b6dp+0 * (1.0 - 1.0 / (64.0 * w * w)) / td_sqrt(w * sine);
  double sum = 0.0;
  for (int m = 0; m < 4; ++m) {
    sum += factor * td_turned_cosine(n, (count + 0.5) * angle + m * angle);
    factor *= (m + 0.5) * (m + 0.5) / ((m + 1) * (count + m + 1.5) * sine);
  }
  return sum;
}

// For 1/2 < x < 1.
TD_FN double td_legendre_near_the_end(double x, td_long n) {
  const double angle = 2.0 * td_asin(td_sqrt((1.0 - x) / 2.0)), count = (double)n + 0.5;
  const double next = angle < 1e-3 ? -angle / 24.0 : (angle / td_tan(angle) - 1.0) / (8.0 * angle);
  const double z = count * angle;
  return td_sqrt(angle / td_sin(angle)) * (td_bessel_j0_at(z) + next / count * td_bessel_j1_at(z));
}

// The angle of x > 1, arcosh(x), exact near 1.
TD_FN double td_hyperbolic_angle(double x) {
  const double over = x - 1.0;
  return td_log1p(over + td_sqrt(over * (2.0 + over)));
}

TD_FN double td_legendre_beyond_one(double x, td_long n) {
  const double angle = td_hyperbolic_angle(x), count = (double)n + 0.5;
  const double next = angle < 1e-3 ? angle / 24.0 : (angle / td_tanh(angle) - 1.0) / (8.0 * angle);
  const double z = count * angle;
  const double waves = td_scaled_modified_i(0, z) + next / count * td_scaled_modified_i(1, z);
  return td_times_exp(td_sqrt(angle / td_sinh(angle)) * waves, z);
}

TD_SLOW_FN double td_legendre_of_high_degree(double x, td_long n) {
  const double size = td_abs(x);
  const double value = size <= 0.5  ? td_legendre_in_the_middle(size, n)
                       : size < 1.0 ? td_legendre_near_the_end(size, n)
                                    : td_legendre_beyond_one(size, n);
  return x < 0.0 && n % 2 != 0 ? -value : value;
}

// The second coefficient of Erdelyi's formula at t, which is -t / 3 near zero; `slope` is the
// angle over the tangent.
TD_FN double td_laguerre_correction(double t, double slope) {
  if (td_abs(t) < 1e-8) return -t / 3.0;
  const double ratio = t / (1.0 - t);
  return -(0.125 + slope * (-0.125 + ratio / 4.0 + 5.0 / 24 * ratio * ratio));
}

TD_SLOW_FN double td_laguerre_of_high_degree(double x, td_long n) {
  const double count = 4.0 * (double)n + 2.0, sign = x < 0.0 ? -1.0 : 1.0;
  const double s = td_sqrt(td_abs(x)) / td_sqrt(count), t = sign * s * s;
  const double cosine = td_sqrt(1.0 - t);
  const double angle = (s * cosine + (x < 0.0 ? td_asinh(s) : td_asin(s))) / 2.0;
  const double second = td_laguerre_correction(t, angle * cosine / s) / (angle * count);
  const double size = td_sqrt(angle / (s * cosine)), z = count * angle;
  if (x > 0.0)
    return td_times_exp(size * (td_bessel_j0_at(z) + second * td_bessel_j1_at(z)), x / 2.0);
  const double waves = td_scaled_modified_i(0, z) + second * td_scaled_modified_i(1, z);
  return td_times_exp(size * waves, z + x / 2.0);
}

// sinh or cosh of `count` times the angle of |x| > 1, over that of `part` times the angle; a `part`
// of zero divides by nothing.
TD_SLOW_FN double td_hyperbolic_ratio(bool is_odd, double x, double count, double part) {
  const double angle = td_hyperbolic_angle(td_abs(x));
  const double value = is_odd ? td_sinh(count * angle) : td_cosh(count * angle);
  if (part == 0.0) return value;
  return value / (is_odd ? td_sinh(part * angle) : td_cosh(part * angle));
}

TAEDA_MATH_END
