// Signs, angles and stable sums as functions of core operators.
#include "taeda/ops/float_math/operators.h"

#include <limits>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

constexpr double kHalfTurn = 3.14159265358979323846;

// The logarithm of a sum of powers, relative to the greater exponent. Equal infinities have no
// difference.
template <class Power, class Log>
Tensor stable_log_sum(const Tensor& a, const Tensor& b, Power&& power, Log&& log1p_of) {
  const Tensor sum =
      taeda::maximum(a, b) + log1p_of(power(taeda::neg(taeda::abs(taeda::sub(a, b)))));
  const Tensor is_same = taeda::logical_and(taeda::isinf(a), taeda::eq(a, b));
  return taeda::where(is_same, a, sum);
}

}  // namespace

TAEDA_DECOMPOSITION(deg2rad, (const Tensor& self)) {
  const Wide w({&self}, Wide::Rule::Float);
  return w.rounded(w(self) * Scalar(kHalfTurn / 180));
}
TAEDA_DECOMPOSITION(rad2deg, (const Tensor& self)) {
  const Wide w({&self}, Wide::Rule::Float);
  return w.rounded(w(self) * Scalar(180 / kHalfTurn));
}
TAEDA_DECOMPOSITION(logaddexp, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other});
  const Tensor a = w(self), b = w(other);
  if (!is_complex(a.dtype()) && !is_complex(b.dtype()))
    return w.rounded(stable_log_sum(
        a, b, [](const Tensor& x) { return taeda::exp(x); },
        [](const Tensor& x) { return taeda::log1p(x); }));
  // Of complex values the one with the greater real part has the greater exponential.
  const Tensor x = taeda::real(a), y = taeda::real(b), is_first = taeda::ge(x, y);
  const Tensor rest = taeda::log1p(taeda::exp(taeda::where(is_first, b - a, a - b)));
  const Tensor is_infinite = taeda::logical_and(taeda::isinf(x), taeda::eq(x, y));
  return w.rounded(taeda::where(is_infinite, b, taeda::where(is_first, a, b) + rest));
}
TAEDA_DECOMPOSITION(logaddexp2, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other});
  return w.rounded(stable_log_sum(
      w(self), w(other), [](const Tensor& x) { return taeda::pow(Scalar(2), x); },
      [](const Tensor& x) { return taeda::log1p(x) * Scalar(1.44269504088896340736); }));
}
TAEDA_DECOMPOSITION(heaviside, (const Tensor& self, const Tensor& values)) {
  const Tensor step = taeda::gt(self, Scalar(0)).to(self.dtype());
  return taeda::where(taeda::eq(self, Scalar(0)), values, step);
}
TAEDA_DECOMPOSITION(sinc, (const Tensor& self)) {
  const Wide w({&self}, Wide::Rule::Float);
  const Tensor x = w(self), angle = x * Scalar(kHalfTurn);
  return w.rounded(taeda::where(taeda::eq(x, Scalar(0)), Scalar(1), taeda::sin(angle) / angle));
}
TAEDA_DECOMPOSITION(isposinf, (const Tensor& self)) {
  return taeda::eq(self, Scalar(std::numeric_limits<double>::infinity()));
}
TAEDA_DECOMPOSITION(isneginf, (const Tensor& self)) {
  return taeda::eq(self, Scalar(-std::numeric_limits<double>::infinity()));
}
TAEDA_DECOMPOSITION(hypot, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other});
  const Tensor a = taeda::abs(w(self)), b = taeda::abs(w(other));
  const Tensor large = taeda::maximum(a, b), ratio = taeda::minimum(a, b) / large;
  const Tensor length = large * taeda::sqrt(ratio * ratio + Scalar(1));
  const Tensor is_zero = taeda::eq(large, Scalar(0));
  const Tensor has_infinity = taeda::logical_or(taeda::isinf(a), taeda::isinf(b));
  return w.rounded(taeda::where(has_infinity, a + b, taeda::where(is_zero, large, length)));
}
TAEDA_DECOMPOSITION(logit, (const Tensor& self, std::optional<double> eps)) {
  const Wide w({&self}, Wide::Rule::Float);
  Tensor x = w(self);
  if (eps) x = taeda::clamp(x, Scalar(*eps), Scalar(1 - *eps));
  return w.rounded(taeda::log(x / (Scalar(1) - x)));
}

}  // namespace taeda
