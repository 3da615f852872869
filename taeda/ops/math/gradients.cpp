// Derivative helpers of elementary functions and powers.
#include "taeda/ops/math/gradients.h"

#include <cmath>
#include <complex>

#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

Scalar minus_one(const Scalar& s) {
  if (s.is_complex()) return Scalar(s.to_complex() - Complex<double>(1));
  if (s.is_floating()) return Scalar(s.to_double() - 1);
  return Scalar(s.to_int() - 1);
}

Scalar log_of(const Scalar& s, bool as_complex) {
  if (!s.is_complex() && !as_complex) return Scalar(std::log(s.to_double()));
  const Complex<double> c = s.to_complex();
  const std::complex<double> l = std::log(std::complex<double>(c.re, c.im));
  return Scalar(Complex<double>(l.real(), l.imag()));
}

// A number that is a symbol, of which nothing can be asked.
Tensor tensor_of(const Scalar& s, DType dtype, Device device) {
  return taeda::scalar_tensor(s, dtype, {}, device);
}

Tensor is_not_negative(const Tensor& exponent) {
  return (exponent.is_complex() ? taeda::real(exponent) : exponent).ge(Scalar(0));
}

// The squared distance from the origin, one at the origin, where what it divides is zero.
Tensor squared_distance(const Tensor& self, const Tensor& other) {
  const Tensor square = self * self + other * other;
  return square.masked_fill(square.eq(Scalar(0)), Scalar(1));
}

}  // namespace

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.is_symbolic())
    return pow_backward_self(grad, self, tensor_of(exponent, grad.dtype(), self.device()));
  if (exponent.equals(0)) return taeda::zeros_like(grad);
  return grad * (self.pow(minus_one(exponent)) * exponent).conj();
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor slope = grad * (exponent * self.pow(exponent - Scalar(1))).conj();
  return where(exponent.eq(Scalar(0)), Scalar(0), slope);
}

Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result) {
  const Tensor is_flat = self.eq(Scalar(0)).logical_and(is_not_negative(exponent));
  // A negative real base has a complex logarithm, which the result may call for.
  const Tensor log = (result.is_complex() ? self.to(result.dtype()) : self).log();
  return where(is_flat, Scalar(0), grad * (result * log).conj());
}

Tensor pow_backward_base(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                         const Tensor& result) {
  if (self.is_symbolic())
    return pow_backward_exponent(grad, tensor_of(self, result.dtype(), exponent.device()), exponent,
                                 result);
  const Tensor slope = grad * (result * log_of(self, exponent.is_complex())).conj();
  return self.equals(0) ? where(is_not_negative(exponent), Scalar(0), slope) : slope;
}

Tensor atan2_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * other / squared_distance(self, other);
}

Tensor atan2_backward_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return -grad * self / squared_distance(self, other);
}

}  // namespace taeda::gradients
