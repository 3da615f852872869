// Derivative helpers of extremes and limits.
#include "taeda/ops/selection/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor larger_share(const Tensor& grad, const Tensor& self, const Tensor& other, bool of_smaller) {
  const Tensor loses = of_smaller ? self.gt(other) : self.lt(other);
  return where(self.eq(other), grad / Scalar(2), grad).masked_fill(loses, Scalar(0));
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max) {
  if (!max) return where(self.ge(*min), grad, Scalar(0));
  if (!min) return where(self.le(*max), grad, Scalar(0));
  return where(self.ge(*min).logical_and(self.le(*max)), grad, Scalar(0));
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                      const Tensor& max) {
  if (!max.defined()) return where(self.ge(min), grad, Scalar(0));
  if (!min.defined()) return where(self.le(max), grad, Scalar(0));
  return where(self.ge(min).logical_and(self.le(max)), grad, Scalar(0));
}

Tensor clamp_min_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max) {
  const Tensor is_below = self.lt(min);
  return where(max.defined() ? is_below.logical_and(min.lt(max)) : is_below, grad, Scalar(0));
}

// An upper limit below the lower one wins everywhere.
Tensor clamp_max_backward(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max) {
  const Tensor is_above = self.gt(max);
  return where(min.defined() ? is_above.logical_or(max.lt(min)) : is_above, grad, Scalar(0));
}

}  // namespace taeda::gradients
