// Derivative helpers of signs, angles and parts of numbers.
#include "taeda/ops/float_math/gradients.h"

#include <limits>

#include "taeda/ops/float_math/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

constexpr double kCirclePi = 3.14159265358979323846;

}  // namespace

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor ratio = result / self;
  return grad * ratio.masked_fill(self.eq(Scalar(0)), Scalar(0));
}

Tensor frexp_backward(const Tensor& grad, const Tensor& exponent) {
  return grad / taeda::pow(Scalar(2.0), exponent.to(grad.dtype()));
}

Tensor sinc_backward(const Tensor& grad, const Tensor& self) {
  const Tensor angle = self * Scalar(kCirclePi);
  const Tensor square = angle * self;  // zero for tiny numbers too
  const Tensor slope = (angle * angle.cos() - angle.sin()) / square;
  return grad * slope.masked_fill(square.eq(Scalar(0)), Scalar(0)).conj();
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return taeda::zeros_like(grad);
  const Tensor re = taeda::real(self), im = taeda::imag(self), square = re * re + im * im;
  const Tensor is_zero = square.eq(Scalar(0));
  const auto part = [&](const Tensor& slope) {
    return grad * slope.masked_fill(is_zero, Scalar(0));
  };
  return taeda::complex(part(-im / square), part(re / square));
}

Tensor angle_forward(const Tensor& tangent, const Tensor& self, const Tensor& result) {
  if (!self.is_complex()) return taeda::zeros_like(result);
  const Tensor slope = angle_backward(taeda::ones_like(result), self);
  return taeda::real(slope.conj() * tangent);
}

Tensor polar_backward_abs(const Tensor& grad, const Tensor& result) {
  return taeda::real(grad.conj() * taeda::sgn(result));
}

Tensor polar_backward_angle(const Tensor& grad, const Tensor& result) {
  const Tensor turned = result * Scalar(Complex<double>(0, 1));
  return taeda::real(grad.conj() * turned);
}

Tensor polar_forward(const Tensor& abs_tangent, const Tensor& angle_tangent, const Tensor& angle,
                     const Tensor& result) {
  const Tensor direction = taeda::complex(angle.cos(), angle.sin());
  return abs_tangent * direction + result * Scalar(Complex<double>(0, 1)) * angle_tangent;
}

Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  const double low = eps.value_or(0), high = eps ? 1 - *eps : 1;
  const Tensor slope = grad / (self * (Scalar(1) - self));
  const Tensor is_outside = self.lt(Scalar(low)).logical_or(self.gt(Scalar(high)));
  const double outside = eps ? 0 : std::numeric_limits<double>::quiet_NaN();
  return slope.masked_fill(is_outside, Scalar(outside));
}

}  // namespace taeda::gradients
