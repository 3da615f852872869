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

}  // namespace taeda::gradients
