// Extremes, limits, masks and replacements as functions of core operators.
#include <limits>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/operands.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// The extreme of both, or the one that is a number.
Tensor ignoring_nan(const Tensor& extreme, const Tensor& self, const Tensor& other) {
  return taeda::where(taeda::isnan(self), other, taeda::where(taeda::isnan(other), self, extreme));
}

}  // namespace

TAEDA_DECOMPOSITION(fmax, (const Tensor& self, const Tensor& other)) {
  return ignoring_nan(taeda::maximum(self, other), self, other);
}
TAEDA_DECOMPOSITION(fmin, (const Tensor& self, const Tensor& other)) {
  return ignoring_nan(taeda::minimum(self, other), self, other);
}

TAEDA_DECOMPOSITION(clamp_min, (const Tensor& self, const Scalar& min)) {
  return ops::clamp(self, min, std::nullopt);
}
TAEDA_DECOMPOSITION(clamp_min_Tensor, (const Tensor& self, const Tensor& min)) {
  return taeda::maximum(self, min);
}
TAEDA_DECOMPOSITION(clamp_max, (const Tensor& self, const Scalar& max)) {
  return ops::clamp(self, std::nullopt, max);
}
TAEDA_DECOMPOSITION(clamp_max_Tensor, (const Tensor& self, const Tensor& max)) {
  return taeda::minimum(self, max);
}

TAEDA_DECOMPOSITION(masked_fill_Scalar,
                    (const Tensor& self, const Tensor& mask, const Scalar& value)) {
  const Tensor filling =
      taeda::scalar_tensor(fill_number(self, value), self.dtype(), {}, self.device());
  return taeda::where(mask, filling, self);
}
TAEDA_DECOMPOSITION(masked_fill_Tensor,
                    (const Tensor& self, const Tensor& mask, const Tensor& value)) {
  return taeda::where(mask, value.to(self.dtype()), self);
}

TAEDA_DECOMPOSITION(nan_to_num, (const Tensor& self, std::optional<double> nan,
                                 std::optional<double> posinf, std::optional<double> neginf)) {
  if (is_integral(self.dtype(), true)) return self.clone();
  if (self.is_complex()) {
    return taeda::complex(taeda::nan_to_num(taeda::real(self), nan, posinf, neginf),
                          taeda::nan_to_num(taeda::imag(self), nan, posinf, neginf));
  }
  const Scalar infinity(std::numeric_limits<double>::infinity());
  const Tensor above = taeda::where(taeda::eq(self, infinity), replacement(self, posinf, 1), self);
  const Tensor below = taeda::where(taeda::eq(self, Scalar(-infinity.to_double())),
                                    replacement(self, neginf, -1), above);
  return taeda::where(taeda::isnan(self), replacement(self, nan, 0), below);
}

TAEDA_DECOMPOSITION(round_decimals, (const Tensor& self, int64_t decimals)) {
  const Wide w({&self});
  const Scalar scale = power_of_ten(decimals);
  const Tensor x = w(self);
  return w.rounded(decimals < 0 ? taeda::round(x / scale) * scale
                                : taeda::round(x * scale) / scale);
}

TAEDA_DECOMPOSITION(frac, (const Tensor& self)) { return self - taeda::trunc(self); }

TAEDA_DECOMPOSITION(_sgn, (const Tensor& self)) {
  const Tensor modulus = taeda::abs(self);
  return taeda::where(taeda::eq(modulus, Scalar(0)), Scalar(0), self / modulus);
}

}  // namespace taeda
