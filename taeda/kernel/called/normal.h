// The scaled error function and the normal distribution in double precision.
#pragma once

#include "taeda/kernel/called/lanes.h"

TAEDA_MATH_BEGIN

#define TD_SQRT2 0x1.6a09e667f3bcdp+0
#define TD_ROOT_TWO_PI 0x1.40d931ff62706p+1

// exp(x * x) erfc(x). Where erfc is about to leave the type, the first terms of 1 / x.
TD_SLOW_FN double td_erfcx_at(double x) {
  if (x > 26.0) {
    const double r = 0.5 / (x * x);
    // 0x1.20dd750429b6dp-1 is 1 / sqrt(pi).
    return 0x1.20dd750429b6dp-1 / x *
           (1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r)))));
  }
  const double square = x * x;
  if (square > 710.0) return td_inf<double>();
  // What the square lost by rounding counts in the exponent.
  return td_exp(square) * td_exp(td_fma(x, x, -square)) * td_erfc(x);
}

TD_SLOW_FN double td_log_ndtr_at(double x) {
  const double t = x / TD_SQRT2;
  if (x < -1.0) return td_log(td_erfcx_at(-t) / 2.0) - t * t;
  return td_log1p(-td_erfc(t) / 2.0);
}

// A step of Halley's method on the cumulative function; `over_density` is its error over its slope.
TD_FN double td_halley(double z, double over_density) {
  return z - over_density / (1.0 + z * over_density / 2.0);
}

// For |q| < 1/4: the argument at which the cumulative function is 1/2 + q.
TD_FN double td_ndtri_middle(double q) {
  double z = TD_ROOT_TWO_PI * q;
  for (int i = 0; i < 4; ++i)
    z = td_halley(z, (td_erf(z / TD_SQRT2) / 2.0 - q) * TD_ROOT_TWO_PI * td_exp(z * z / 2.0));
  return z;
}

// For p <= 1/4. The first value is within 5e-4 (Abramowitz and Stegun, 26.2.23).
TD_FN double td_ndtri_tail(double p) {
  const double log_p = td_log(p), t = td_sqrt(-2.0 * log_p);
  double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i)
    z = td_halley(z, TD_ROOT_TWO_PI / 2.0 * td_erfcx_at(-z / TD_SQRT2) -
                         TD_ROOT_TWO_PI * td_exp(z * z / 2.0 + log_p));
  return z;
}

TD_SLOW_FN double td_ndtri_at(double p) {
  if (p == 0.0 || p == 1.0) return p == 0.0 ? -td_inf<double>() : td_inf<double>();
  if (!(p > 0.0 && p < 1.0)) return td_nan<double>();
  if (p > 0.25 && p < 0.75) return td_ndtri_middle(p - 0.5);
  return p < 0.5 ? td_ndtri_tail(p) : -td_ndtri_tail(1.0 - p);
}

TD_CALLED(erfcx)
TD_CALLED(log_ndtr)
TD_CALLED(ndtri)

TAEDA_MATH_END
