// Legendre polynomials by the series of Stieltjes in the middle and that of Szego in Bessel
// functions near the ends; Laguerre polynomials by Erdelyi's uniform formula.
#include "taeda/backends/cpu/pointwise/high_degrees.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "taeda/backends/cpu/pointwise/bessel.h"

namespace taeda::cpu {
namespace {

using std::numbers::inv_sqrtpi;

double or_nan(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

// value * exp(power), where the exponential alone may be too large.
double times_exp(double value, double power) {
  const double half = std::exp(power / 2);
  return value * half * half;
}

// cos(n pi / 2 - angle)
double turned_cosine(int64_t n, double angle) {
  const double value = n % 2 == 0 ? std::cos(angle) : std::sin(angle);
  return n % 4 < 2 ? value : -value;
}

// For 0 <= x <= 1/2. The angle counts from the middle, where a small x has all its bits.
double legendre_in_the_middle(double x, int64_t n) {
  const double count = static_cast<double>(n), angle = std::asin(x);
  const double sine = 2 * std::sqrt((1 - x) * (1 + x));
  const double w = count + 0.75;
  double factor = 2 * inv_sqrtpi * (1 - 1 / (64 * w * w)) / std::sqrt(w * sine), sum = 0;
  for (int m = 0; m < 4; ++m) {
    sum += factor * turned_cosine(n, (count + 0.5) * angle + m * angle);
    factor *= (m + 0.5) * (m + 0.5) / ((m + 1) * (count + m + 1.5) * sine);
  }
  return sum;
}

// For 1/2 < x < 1.
double legendre_near_the_end(double x, int64_t n) {
  const double angle = 2 * std::asin(std::sqrt((1 - x) / 2)), count = static_cast<double>(n) + 0.5;
  const double next = angle < 1e-3 ? -angle / 24 : (angle / std::tan(angle) - 1) / (8 * angle);
  const double z = count * angle;
  return std::sqrt(angle / std::sin(angle)) * (bessel_j0(z) + next / count * bessel_j1(z));
}

// The angle of x > 1, arcosh(x), exact near 1.
double hyperbolic_angle(double x) {
  const double over = x - 1;
  return std::log1p(over + std::sqrt(over * (2 + over)));
}

double legendre_beyond_one(double x, int64_t n) {
  const double angle = hyperbolic_angle(x), count = static_cast<double>(n) + 0.5;
  const double next = angle < 1e-3 ? angle / 24 : (angle / std::tanh(angle) - 1) / (8 * angle);
  const double z = count * angle;
  const double waves = scaled_modified_i(0, z) + next / count * scaled_modified_i(1, z);
  return times_exp(std::sqrt(angle / std::sinh(angle)) * waves, z);
}

// The second coefficient of Erdelyi's formula at t, which is -t / 3 near zero; `slope` is the
// angle over the tangent.
double laguerre_correction(double t, double slope) {
  if (std::abs(t) < 1e-8) return -t / 3;
  const double ratio = t / (1 - t);
  return -(0.125 + slope * (-0.125 + ratio / 4 + 5.0 / 24 * ratio * ratio));
}

}  // namespace

double legendre_of_high_degree(double x, int64_t n) {
  const double size = std::abs(x);
  const double value = size <= 0.5 ? legendre_in_the_middle(size, n)
                       : size < 1  ? legendre_near_the_end(size, n)
                                   : legendre_beyond_one(size, n);
  return or_nan(x < 0 && n % 2 != 0 ? -value : value);
}

double laguerre_of_high_degree(double x, int64_t n) {
  const double count = 4 * static_cast<double>(n) + 2, sign = x < 0 ? -1 : 1;
  const double s = std::sqrt(std::abs(x)) / std::sqrt(count), t = sign * s * s;
  const double cosine = std::sqrt(1 - t);
  const double angle = (s * cosine + (x < 0 ? std::asinh(s) : std::asin(s))) / 2;
  const double second = laguerre_correction(t, angle * cosine / s) / (angle * count);
  const double size = std::sqrt(angle / (s * cosine)), z = count * angle;
  if (x > 0) return or_nan(times_exp(size * (bessel_j0(z) + second * bessel_j1(z)), x / 2));
  const double waves = scaled_modified_i(0, z) + second * scaled_modified_i(1, z);
  return or_nan(times_exp(size * waves, z + x / 2));
}

double hyperbolic_ratio(bool is_odd, double x, double count, double part) {
  const double angle = hyperbolic_angle(std::abs(x));
  const auto function = [=](double y) { return is_odd ? std::sinh(y) : std::cosh(y); };
  const double value = function(count * angle);
  return or_nan(part == 0 ? value : value / function(part * angle));
}

}  // namespace taeda::cpu
