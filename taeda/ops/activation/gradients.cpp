// Second derivatives of activations.
#include "taeda/ops/activation/gradients.h"

#include <cmath>

#include "taeda/ops/functions.h"

namespace taeda::gradients {

// With s = sigmoid(x): silu'' = s (1 - s) (2 + x (1 - 2 s)).
Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  const Tensor s = self.sigmoid();
  return grad * grad_output * s * (1 - s) * (2 + self * (1 - 2 * s));
}

Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self,
                            std::string_view approximate) {
  const Tensor square = self * self;
  if (approximate != "tanh") {
    // (phi + x phi)' = phi (2 - x^2), phi the normal density.
    const Tensor density = (square * Scalar(-0.5)).exp() * Scalar(1 / std::sqrt(2 * M_PI));
    return grad * grad_output * density * (2 - square);
  }
  const double scale = std::sqrt(2 / M_PI), cubic = 0.044715;
  const Tensor t = ((self + self * square * Scalar(cubic)) * Scalar(scale)).tanh();
  const Tensor slope = (1 + square * Scalar(3 * cubic)) * Scalar(scale);  // of tanh's argument
  const Tensor bend = self * Scalar(6 * cubic * scale);                   // slope'
  const Tensor dt = (1 - t * t) * slope;
  const Tensor second = (1 - t * t) * (bend - 2 * t * slope * slope);
  return grad * grad_output * (dt + Scalar(0.5) * self * second);
}

Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output, const Scalar& alpha,
                           const Scalar& scale, const Scalar& input_scale, bool is_result,
                           const Tensor& self_or_result) {
  const Tensor both = grad * grad_output * input_scale;
  const Tensor bent =
      is_result ? both
                : taeda::elu_backward(both, alpha, scale, input_scale, false, self_or_result);
  return taeda::where(self_or_result.lt(Scalar(0)), bent, Scalar(0));
}

// With t = tanh(log(1 + exp(x))) and s = sigmoid(x): mish'' = s (1 - t^2) (2 + x (1 - s) - 2 x t
// s).
Tensor mish_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  const Tensor t = taeda::softplus(self).tanh(), s = self.sigmoid();
  return grad * grad_output * s * (1 - t * t) * (2 + self * (1 - s) - 2 * self * t * s);
}

Tensor hardswish_double_backward(const Tensor& grad, const Tensor& grad_output,
                                 const Tensor& self) {
  return taeda::where(self.abs().lt(Scalar(3)), grad * grad_output * Scalar(1.0 / 3), Scalar(0));
}

Tensor softplus_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self,
                                const Scalar& beta, const Scalar& threshold) {
  const Tensor z = self * beta, s = z.sigmoid();
  return taeda::where(z.gt(threshold), Scalar(0), grad * grad_output * s * (1 - s) * beta);
}

}  // namespace taeda::gradients
