// Derivative helpers of signs.
#include "taeda/ops/rounding/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor modulus = self.abs();
  const Tensor slope = grad / modulus - taeda::real(grad / result) * result / modulus;
  return where(modulus.eq(Scalar(0)), Scalar(0), slope);
}

Tensor sgn_forward(const Tensor& self, const Tensor& tangent, const Tensor& result) {
  // The part of the tangent across the direction turns it; the part along it does nothing.
  return sgn_backward(tangent, self, result);
}

}  // namespace taeda::gradients
