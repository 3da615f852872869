// The scaled error function and the normal distribution, element by element in double precision.
#include <cmath>
#include <limits>
#include <numbers>

#include "taeda/backends/cpu/error_functions_declarations.h"
#include "taeda/backends/cpu/pointwise/unary_walk.h"

namespace taeda::cpu {
namespace {

using std::numbers::inv_sqrtpi, std::numbers::pi, std::numbers::sqrt2;

const double kRootTwoPi = std::sqrt(2 * pi);

// exp(x * x) erfc(x). Where erfc is about to leave the type, the first terms of 1 / x.
double erfcx(double x) {
  if (x > 26) {
    const double r = 0.5 / (x * x);
    return inv_sqrtpi / x * (1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r)))));
  }
  const double square = x * x;
  if (square > 710) return std::numeric_limits<double>::infinity();
  // What the square lost by rounding counts in the exponent.
  return std::exp(square) * std::exp(std::fma(x, x, -square)) * std::erfc(x);
}

double log_ndtr(double x) {
  const double t = x / sqrt2;
  if (x < -1) return std::log(erfcx(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}

// A step of Halley's method on the cumulative function; `over_density` is its error over its slope.
double halley(double z, double over_density) {
  return z - over_density / (1 + z * over_density / 2);
}

// For |q| < 1/4: the argument at which the cumulative function is 1/2 + q.
double ndtri_middle(double q) {
  double z = kRootTwoPi * q;
  for (int i = 0; i < 4; ++i)
    z = halley(z, (std::erf(z / sqrt2) / 2 - q) * kRootTwoPi * std::exp(z * z / 2));
  return z;
}

// For p <= 1/4. The first value is within 5e-4 (Abramowitz and Stegun, 26.2.23).
double ndtri_tail(double p) {
  const double log_p = std::log(p), t = std::sqrt(-2 * log_p);
  double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 3; ++i)
    z = halley(z, std::sqrt(pi / 2) * erfcx(-z / sqrt2) - kRootTwoPi * std::exp(z * z / 2 + log_p));
  return z;
}

double ndtri(double p) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p > 0.25 && p < 0.75) return ndtri_middle(p - 0.5);
  return p < 0.5 ? ndtri_tail(p) : -ndtri_tail(1 - p);
}

}  // namespace

void special_erfcx(const Tensor& self, Tensor& out) { for_each_value(self, out, 16, erfcx); }
void special_log_ndtr(const Tensor& self, Tensor& out) { for_each_value(self, out, 16, log_ndtr); }
void special_ndtri(const Tensor& self, Tensor& out) { for_each_value(self, out, 64, ndtri); }

}  // namespace taeda::cpu
