// Activations and their gradients as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/activation/bodies.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/operands.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

using bodies::kGeluCubic;
using bodies::kGeluScale;
using bodies::kNormalPeak;
using bodies::kSqrtHalf;

// The derivative of gelu with the normal distribution itself.
Tensor gelu_slope(const Tensor& x) {
  const Tensor cdf = Scalar(0.5) * (Scalar(1.0) + taeda::erf(x * Scalar(kSqrtHalf)));
  const Tensor pdf = taeda::exp(Scalar(-0.5) * x * x) * Scalar(kNormalPeak);
  return cdf + x * pdf;
}

// The derivative of gelu with a tanh in the distribution's place.
Tensor gelu_tanh_slope(const Tensor& x) {
  const Tensor square = x * x;
  const Tensor t = taeda::tanh(Scalar(kGeluScale) * (x + Scalar(kGeluCubic) * square * x));
  const Tensor inner = Scalar(kGeluScale) * (Scalar(1.0) + Scalar(3 * kGeluCubic) * square);
  return Scalar(0.5) * (Scalar(1.0) + t) + Scalar(0.5) * x * (Scalar(1.0) - t * t) * inner;
}

}  // namespace

TAEDA_DECOMPOSITION(threshold_backward,
                    (const Tensor& grad_output, const Tensor& self, const Scalar& threshold)) {
  const Wide w({&grad_output, &self});
  return w.rounded(taeda::where(taeda::le(self, threshold), Scalar(0), grad_output));
}

TAEDA_DECOMPOSITION(leaky_relu_backward,
                    (const Tensor& grad_output, const Tensor& self, const Scalar& negative_slope,
                     [[maybe_unused]] bool self_is_result)) {
  const Wide w({&grad_output, &self});
  const Tensor grad = w(grad_output);
  return w.rounded(taeda::where(taeda::gt(self, Scalar(0)), grad, grad * negative_slope));
}

TAEDA_DECOMPOSITION(silu, (const Tensor& self)) {
  const Wide w({&self});
  const Tensor x = w(self);
  return w.rounded(x * taeda::sigmoid(x));
}

TAEDA_DECOMPOSITION(silu_backward, (const Tensor& grad_output, const Tensor& self)) {
  const Wide w({&grad_output, &self});
  const Tensor x = w(self), s = taeda::sigmoid(x);
  return w.rounded(w(grad_output) * (s * (Scalar(1.0) + x * (Scalar(1.0) - s))));
}

TAEDA_DECOMPOSITION(gelu_backward,
                    (const Tensor& grad_output, const Tensor& self, std::string_view approximate)) {
  const Wide w({&grad_output, &self});
  const Tensor x = w(self);
  const Tensor slope = gelu_body(approximate) == 1 ? gelu_tanh_slope(x) : gelu_slope(x);
  return w.rounded(w(grad_output) * slope);
}

}  // namespace taeda
