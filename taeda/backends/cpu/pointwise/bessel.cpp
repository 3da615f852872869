// Bessel and Airy functions, element by element in double precision.
//
// Near zero they are power series. Further out they are modified functions of the second kind,
// K(z), by Temme's continued fraction, which also holds on the imaginary axis: there it gives the
// Bessel functions, whose waves are the parts of exp(-z).
#include "taeda/backends/cpu/pointwise/bessel.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "taeda/backends/cpu/bessel_declarations.h"
#include "taeda/backends/cpu/pointwise/unary_walk.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/special_math/functions.h"

namespace taeda::cpu {
namespace {

using std::numbers::egamma, std::numbers::ln2, std::numbers::pi;
using Phasor = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMostSteps = 500;

// K of the orders mu and mu + 1 times exp(z) sqrt(2 z / pi).
template <class Z>
struct Scaled {
  Z low, high;
};

// For |mu| <= 1/2 and |z| >= 2, off the negative axis.
template <class Z>
Scaled<Z> modified_second(double mu, Z z) {
  const double first = 0.25 - mu * mu;
  Z b = 2.0 * (1.0 + z), d = 1.0 / b, fraction = d, step = d;
  double a = -first, c = first;
  Z q = first, sum = 1.0 + q * step, q_before = 0.0, q_last = 1.0;
  for (int i = 2; i < kMostSteps; ++i) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const Z q_next = (q_before - b * q_last) / a;
    q_before = q_last;
    q_last = q_next;
    q += c * q_next;
    b += 2.0;
    d = 1.0 / (b + a * d);
    step *= b * d - 1.0;
    fraction += step;
    const Z change = q * step;
    sum += change;
    if (std::abs(change) < kEpsilon * std::abs(sum)) break;
  }
  const Z low = 1.0 / sum;
  return {low, low * (mu + 0.5 + z - first * fraction) / z};
}

// Power series in y, which is x * x / 4 or its negative: those of the functions of the first kind,
// and those that go beside the logarithm in the second kind. The first function of order 1 is
// x / 2 * first_1.
struct Series {
  double first_0 = 1, first_1 = 1, beside_0 = 0, beside_1 = 1 - 2 * egamma;

  explicit Series(double y) {
    double term_0 = 1, term_1 = 1, harmonic = 0, digammas = beside_1;
    for (int k = 1; k < kMostSteps; ++k) {
      term_0 *= y / (k * k);
      term_1 *= y / (k * (k + 1.0));
      harmonic += 1.0 / k;
      digammas += 1.0 / k + 1.0 / (k + 1);
      first_0 += term_0;
      first_1 += term_1;
      beside_0 += term_0 * harmonic;
      beside_1 += term_1 * digammas;
      if (std::abs(term_0 * harmonic) < kEpsilon * std::abs(beside_0)) break;
    }
  }
};

// The first argument at which waves come from the continued fraction.
constexpr double kFirstWave = 6;

// J + i Y of order 0 or 1 for x >= kFirstWave.
Phasor wave(int order, double x) {
  const Scaled<Phasor> k = modified_second(0.0, Phasor(0, -x));
  const double sine = std::sin(x), cosine = std::cos(x), size = std::sqrt(1 / (pi * x));
  // exp(i (x - order pi / 2 - pi / 4)), from exact parts.
  const Phasor turn =
      order == 0 ? Phasor(cosine + sine, sine - cosine) : Phasor(sine - cosine, -(cosine + sine));
  return size * turn * (order == 0 ? k.low : k.high);
}

}  // namespace

double bessel_j0(double x) {
  x = std::abs(x);
  return x < kFirstWave ? Series(-x * x / 4).first_0 : wave(0, x).real();
}
double bessel_j1(double x) {
  if (std::abs(x) < kFirstWave) return x / 2 * Series(-x * x / 4).first_1;
  return std::copysign(1.0, x) * wave(1, std::abs(x)).real();
}

// Near zero the power series; further out, where its last terms are large, the one in 1 / x.
double scaled_modified_i(int order, double x) {
  constexpr double kFirstFar = 32;
  if (x < kFirstFar) {
    const Series series(x * x / 4);
    return std::exp(-x) * (order == 0 ? series.first_0 : x / 2 * series.first_1);
  }
  double term = 1, sum = 1;
  for (int k = 1; k < kMostSteps && std::abs(term) > kEpsilon; ++k) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - 4 * order) / (8 * k * x);
    sum += term;
  }
  return sum / std::sqrt(2 * pi * x);
}

namespace {

double bessel_y0(double x) {
  if (x <= 0) return x == 0 ? -kInfinity : kNaN;
  if (!(x < kFirstWave)) return wave(0, x).imag();
  const Series series(-x * x / 4);
  return 2 / pi * ((std::log(x) - ln2 + egamma) * series.first_0 - series.beside_0);
}
double bessel_y1(double x) {
  if (x <= 0) return x == 0 ? -kInfinity : kNaN;
  if (!(x < kFirstWave)) return wave(1, x).imag();
  const Series series(-x * x / 4);
  return (std::log(x) - ln2) * x / pi * series.first_1 - 2 / (pi * x) -
         x / (2 * pi) * series.beside_1;
}

// K of order 0 or 1, times exp(x) where it is scaled.
double modified_k(int order, double x, bool is_scaled) {
  if (x <= 0) return x == 0 ? kInfinity : kNaN;
  if (x == kInfinity) return 0;
  if (!(x <= 2)) {
    const Scaled<double> k = modified_second(0.0, x);
    const double size = std::sqrt(pi / (2 * x)) * (is_scaled ? 1 : std::exp(-x));
    return size * (order == 0 ? k.low : k.high);
  }
  const Series series(x * x / 4);
  const double log_half = std::log(x) - ln2;
  const double value = order == 0
                           ? series.beside_0 - (log_half + egamma) * series.first_0
                           : 1 / x + x / 2 * (log_half * series.first_1 - series.beside_1 / 2);
  return is_scaled ? value * std::exp(x) : value;
}

double airy_series(double x) {
  constexpr double kValueAtZero = 0.35502805388781723926, kSlopeAtZero = -0.25881940379280679840;
  const double cube = x * x * x;
  double even = 1, odd = x, even_term = 1, odd_term = x;
  for (int k = 3; k < kMostSteps; k += 3) {
    even_term *= cube / (k * (k - 1.0));
    odd_term *= cube / (k * (k + 1.0));
    even += even_term;
    odd += odd_term;
    if (std::abs(even_term) + std::abs(odd_term) < kEpsilon) break;
  }
  return kValueAtZero * even + kSlopeAtZero * odd;
}

// Beyond the series Ai is K of order 1/3 at 2/3 x^(3/2); to the left, where that is imaginary, the
// sum of two conjugate values.
double airy_ai(double x) {
  if (std::isinf(x)) return kNaN;
  if (x > -5 && x < 2) return airy_series(x);
  const double size = std::abs(x), zeta = 2.0 / 3 * size * std::sqrt(size);
  const double scale = 1 / (2 * std::sqrt(pi * std::sqrt(size)));
  if (x > 0) return scale * std::exp(-zeta) * modified_second(1.0 / 3, zeta).low;
  const Phasor k = modified_second(1.0 / 3, Phasor(0, zeta)).low;
  return 2 * scale * (std::polar(1.0, pi / 4 - zeta) * k).real();
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

}  // namespace

void special_airy_ai(const Tensor& x, Tensor& out) { for_each_value(x, out, 64, airy_ai); }
void special_bessel_j0(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, bessel_j0);
}
void special_bessel_j1(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, bessel_j1);
}
void special_bessel_y0(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, bessel_y0);
}
void special_bessel_y1(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, bessel_y1);
}
void special_modified_bessel_i0(const Tensor& self, Tensor& out) { taeda::i0_out(out, self); }
void special_modified_bessel_i1(const Tensor& self, Tensor& out) {
  taeda::special_i1_out(out, self);
}
void special_modified_bessel_k0(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, [](double x) { return modified_k(0, x, false); });
}
void special_modified_bessel_k1(const Tensor& self, Tensor& out) {
  for_each_value(self, out, 64, [](double x) { return modified_k(1, x, false); });
}
void special_scaled_modified_bessel_k0(const Tensor& x, Tensor& out) {
  for_each_value(x, out, 64, [](double v) { return modified_k(0, v, true); });
}
void special_scaled_modified_bessel_k1(const Tensor& x, Tensor& out) {
  for_each_value(x, out, 64, [](double v) { return modified_k(1, v, true); });
}
void special_spherical_bessel_j0(const Tensor& x, Tensor& out) {
  for_each_value(x, out, 16, spherical_bessel_j0);
}

}  // namespace taeda::cpu
