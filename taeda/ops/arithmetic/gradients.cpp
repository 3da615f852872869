// Derivative helpers of the arithmetic operators.
#include "taeda/ops/arithmetic/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor mul_scalar(const Tensor& grad, const Scalar& s) { return s.equals(1) ? grad : grad.mul(s); }

Scalar one_minus(const Scalar& s) {
  if (s.is_complex()) return Scalar(Complex<double>(1) - s.to_complex());
  return Scalar(1 - s.to_double());
}

Tensor abs_forward(const Tensor& self, const Tensor& tangent) {
  const Tensor along = tangent.mul(self.sgn().conj());
  return self.is_complex() ? taeda::real(along) : along;
}

}  // namespace taeda::gradients
