// Derivative helpers of gamma, Bessel and entropy functions.
#include "taeda/ops/special_math/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/special_math/functions.h"
#include "taeda/ops/special_math/rules.h"

namespace taeda::gradients {

Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p) {
  return grad * taeda::digamma(mvlgamma_arguments(self, p)).sum(IntList({-1}));
}

Tensor igamma_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor power = (self - Scalar(1)) * other.log() - other - taeda::lgamma(self);
  return grad * power.exp();
}

// I1(x) / x is one half at zero.
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor is_zero = self.eq(Scalar(0));
  const Tensor x = self.masked_fill(is_zero, Scalar(1));
  const Tensor slope = taeda::i0(x) - result / x;
  return grad * slope.masked_fill(is_zero, Scalar(0.5));
}

Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor is_zero = self.eq(Scalar(0));
  const Tensor x = self.masked_fill(is_zero, Scalar(1));
  const Tensor slope = taeda::special_i0e(x) - result * (x.sgn() + x.reciprocal());
  return grad * slope.masked_fill(is_zero, Scalar(0.5));
}

Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor is_flat = self.eq(Scalar(0)).logical_and(other.le(Scalar(0)));
  return taeda::xlogy(grad, other).masked_fill(is_flat, Scalar(0));
}

Tensor xlogy_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  const Tensor slope = taeda::xlogy(grad, other);
  return other.to_double() > 0 ? slope : slope.masked_fill(self.eq(Scalar(0)), Scalar(0));
}

Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor is_flat = self.eq(Scalar(0)).logical_and(other.le(Scalar(-1)));
  return taeda::special_xlog1py(grad, other).masked_fill(is_flat, Scalar(0));
}

Tensor xlog1py_backward_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  const Tensor slope = taeda::special_xlog1py(grad, other);
  return other.to_double() > -1 ? slope : slope.masked_fill(self.eq(Scalar(0)), Scalar(0));
}

}  // namespace taeda::gradients
