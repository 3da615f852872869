// Arithmetic outside the core set as functions of core operators.
#include <cmath>

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// The number as a tensor without dimensions, in the type it is computed with.
Tensor number(const Scalar& value, const Wide& w, const Tensor& like) {
  return taeda::scalar_tensor(value, w.compute(), {}, like.device());
}

Tensor scaled(const Tensor& t, const Scalar& by) { return by.equals(1) ? t : t * by; }

}  // namespace

TAEDA_DECOMPOSITION(_div_floor, (const Tensor& self, const Tensor& other)) {
  return taeda::div(self, other, "floor");
}

// 16-bit quotients are rounded by div before they are cut; here they are not.
TAEDA_DECOMPOSITION(_div_trunc, (const Tensor& self, const Tensor& other)) {
  const Wide w({&self, &other});
  return w.rounded(taeda::div(w(self), w(other), "trunc"));
}

TAEDA_DECOMPOSITION(floor_divide, (const Tensor& self, const Tensor& other)) {
  return taeda::div(self, other, "floor");
}

TAEDA_DECOMPOSITION(rsub_Tensor, (const Tensor& self, const Tensor& other, const Scalar& alpha)) {
  return taeda::sub(other, self, alpha);
}

TAEDA_DECOMPOSITION(rsub_Scalar, (const Tensor& self, const Scalar& other, const Scalar& alpha)) {
  return taeda::sub(other, self, alpha);
}

TAEDA_DECOMPOSITION(remainder_Scalar_Tensor, (const Scalar& self, const Tensor& other)) {
  const Tensor left = wrapped_scalar(self);
  const Wide w({&left, &other});
  return w.rounded(taeda::remainder(number(self, w, other), w(other)));
}

TAEDA_DECOMPOSITION(addcmul, (const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                              const Scalar& value)) {
  const Wide w({&self, &tensor1, &tensor2});
  return w.rounded(w(self) + scaled(w(tensor1), value) * w(tensor2));
}

TAEDA_DECOMPOSITION(addcdiv, (const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                              const Scalar& value)) {
  const Wide w({&self, &tensor1, &tensor2});
  return w.rounded(w(self) + scaled(w(tensor1), value) / w(tensor2));
}

// From the nearer end, so that weights of 0 and 1 give the ends themselves.
TAEDA_DECOMPOSITION(lerp_Scalar, (const Tensor& self, const Tensor& end, const Scalar& weight)) {
  const Wide w({&self, &end});
  const Tensor from = w(self), to = w(end), step = to - from;
  const auto z = weight.to_complex();
  if (std::hypot(z.re, z.im) < 0.5) return w.rounded(from + weight * step);
  const Scalar rest =
      weight.is_complex() ? Scalar(Complex<double>(1 - z.re, -z.im)) : Scalar(1 - z.re);
  return w.rounded(to - step * rest);
}

TAEDA_DECOMPOSITION(lerp_Tensor, (const Tensor& self, const Tensor& end, const Tensor& weight)) {
  const Wide w({&self, &end, &weight});
  const Tensor from = w(self), to = w(end), part = w(weight), step = to - from;
  return w.rounded(taeda::where(taeda::lt(taeda::abs(part), Scalar(0.5)), from + part * step,
                                to - step * (Scalar(1) - part)));
}

}  // namespace taeda
