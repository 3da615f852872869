// Derivative helpers of signs.
#include "taeda/autograd/rounding_formulas.h"

#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor modulus = self.abs();
  const Tensor slope = grad / modulus - taeda::real(grad / result) * result / modulus;
  return where(modulus.eq(Scalar(0)), Scalar(0), slope);
}

}  // namespace taeda::autograd
