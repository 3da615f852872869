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

TAEDA_DECOMPOSITION(threshold, (const Tensor& self, const Scalar& threshold, const Scalar& value)) {
  const Tensor filled = taeda::full_like(self, value);
  return taeda::where(taeda::le(self, threshold), filled, self);
}

TAEDA_DECOMPOSITION(hardtanh, (const Tensor& self, const Scalar& min_val, const Scalar& max_val)) {
  if (is_floating(self.dtype())) return taeda::clamp(self, min_val, max_val);
  return taeda::clamp(self, Scalar(min_val.to_int()), Scalar(max_val.to_int()));
}

TAEDA_DECOMPOSITION(hardtanh_backward, (const Tensor& grad_output, const Tensor& self,
                                        const Scalar& min_val, const Scalar& max_val)) {
  const Wide w({&grad_output, &self});
  const Tensor outside = taeda::logical_or(taeda::le(self, min_val), taeda::ge(self, max_val));
  return w.rounded(taeda::where(outside, Scalar(0), grad_output));
}

TAEDA_DECOMPOSITION(elu, (const Tensor& self, const Scalar& alpha, const Scalar& scale,
                          const Scalar& input_scale)) {
  const Wide w({&self});
  const Tensor x = w(self);
  const Scalar below(alpha.to_double() * scale.to_double());
  return w.rounded(
      taeda::where(taeda::lt(x, Scalar(0)), taeda::expm1(x * input_scale) * below, x * scale));
}

TAEDA_DECOMPOSITION(elu_backward,
                    (const Tensor& grad_output, const Scalar& alpha, const Scalar& scale,
                     const Scalar& input_scale, bool is_result, const Tensor& self_or_result)) {
  const Wide w({&grad_output, &self_or_result});
  const Tensor x = w(self_or_result), grad = w(grad_output);
  const Scalar below(alpha.to_double() * scale.to_double());
  const Tensor bent = is_result ? grad * input_scale * (x + below)
                                : grad * input_scale * below * taeda::exp(x * input_scale);
  return w.rounded(taeda::where(taeda::le(x, Scalar(0)), bent, grad * scale));
}

TAEDA_DECOMPOSITION(mish, (const Tensor& self)) {
  const Wide w({&self});
  const Tensor x = w(self);
  return w.rounded(x * taeda::tanh(taeda::log1p(taeda::exp(x))));
}

TAEDA_DECOMPOSITION(mish_backward, (const Tensor& grad_output, const Tensor& self)) {
  const Wide w({&grad_output, &self});
  const Tensor x = w(self), t = taeda::tanh(taeda::log1p(taeda::exp(x)));
  const Tensor slope = t + x * taeda::sigmoid(x) * (Scalar(1.0) - t * t);
  return w.rounded(w(grad_output) * slope);
}

TAEDA_DECOMPOSITION(hardsigmoid, (const Tensor& self)) {
  const Wide w({&self});
  return w.rounded(taeda::clamp(w(self) + Scalar(3.0), Scalar(0.0), Scalar(6.0)) / Scalar(6.0));
}

TAEDA_DECOMPOSITION(hardsigmoid_backward, (const Tensor& grad_output, const Tensor& self)) {
  const Wide w({&grad_output, &self});
  const Tensor inside = taeda::logical_and(taeda::gt(self, Scalar(-3)), taeda::lt(self, Scalar(3)));
  return w.rounded(taeda::where(inside, w(grad_output) * Scalar(1.0 / 6), Scalar(0)));
}

TAEDA_DECOMPOSITION(hardswish, (const Tensor& self)) {
  const Wide w({&self});
  const Tensor x = w(self);
  return w.rounded(x * taeda::clamp(x + Scalar(3.0), Scalar(0.0), Scalar(6.0)) / Scalar(6.0));
}

TAEDA_DECOMPOSITION(hardswish_backward, (const Tensor& grad_output, const Tensor& self)) {
  const Wide w({&grad_output, &self});
  const Tensor x = w(self), grad = w(grad_output);
  const Tensor inner =
      taeda::where(taeda::lt(x, Scalar(3)), grad * (x / Scalar(3.0) + Scalar(0.5)), grad);
  return w.rounded(taeda::where(taeda::le(x, Scalar(-3)), Scalar(0), inner));
}

TAEDA_DECOMPOSITION(softplus, (const Tensor& self, const Scalar& beta, const Scalar& threshold)) {
  const Wide w({&self});
  const Tensor x = w(self), z = x * beta;
  return w.rounded(taeda::where(taeda::gt(z, threshold), x, taeda::log1p(taeda::exp(z)) / beta));
}

TAEDA_DECOMPOSITION(softplus_backward, (const Tensor& grad_output, const Tensor& self,
                                        const Scalar& beta, const Scalar& threshold)) {
  const Wide w({&grad_output, &self});
  const Tensor grad = w(grad_output), z = w(self) * beta, e = taeda::exp(z);
  return w.rounded(taeda::where(taeda::gt(z, threshold), grad, grad * e / (e + Scalar(1.0))));
}

TAEDA_DECOMPOSITION(log_sigmoid, (const Tensor& self)) {
  const Wide w({&self});
  const Tensor x = w(self).contiguous();
  const Tensor below = taeda::where(taeda::gt(x, Scalar(0)), Scalar(0), x);
  return w.rounded(below - taeda::log1p(taeda::exp(taeda::neg(taeda::abs(x)))));
}

TAEDA_DECOMPOSITION(hardshrink, (const Tensor& self, const Scalar& lambd)) {
  return taeda::where(taeda::le(taeda::abs(self), lambd), Scalar(0), self);
}

TAEDA_DECOMPOSITION(hardshrink_backward,
                    (const Tensor& grad_out, const Tensor& self, const Scalar& lambd)) {
  const Wide w({&grad_out, &self});
  return w.rounded(taeda::where(taeda::le(taeda::abs(self), lambd), Scalar(0), grad_out));
}

TAEDA_DECOMPOSITION(softshrink, (const Tensor& self, const Scalar& lambd)) {
  const Wide w({&self});
  const Tensor x = w(self);
  const Scalar low(-lambd.to_double());
  const Tensor inner = taeda::where(taeda::lt(x, low), x + lambd, x * Scalar(0.0));
  return w.rounded(taeda::where(taeda::gt(x, lambd), x - lambd, inner));
}

TAEDA_DECOMPOSITION(softshrink_backward,
                    (const Tensor& grad_output, const Tensor& self, const Scalar& lambd)) {
  const Wide w({&grad_output, &self});
  return w.rounded(taeda::where(taeda::le(taeda::abs(self), lambd), Scalar(0), grad_output));
}

}  // namespace taeda
