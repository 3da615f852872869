// Derivative helpers of variance and standard deviation.
#include "taeda/ops/variance/gradients.h"

#include <algorithm>
#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/ops/reduction/gradients.h"
#include "taeda/ops/shape.h"

namespace taeda::gradients {

namespace {

// Twice the deviation from the mean over the degrees of freedom: the derivative by each element.
Tensor var_slope(const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  SymInt count = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (bits >> d & 1) count *= self.sym_size(d);
  const Tensor deviation = self.sub(self.mean(dim, /*keepdim=*/true));
  if (count.is_symbolic() && (!correction || correction->is_integral()))
    return deviation.mul(Scalar(2)).div(
        Scalar(count - SymInt(correction ? correction->to_int() : 1)));
  const double freedom = std::max(
      0.0, static_cast<double>(count.expect_int()) - (correction ? correction->to_double() : 1.0));
  // Without freedom the slope is infinite, along dimensions with the sign of the deviation, and
  // none is defined at the mean.
  if (freedom == 0 && (!dim || self.dim() == 0)) {
    using Limits = std::numeric_limits<double>;
    return taeda::full_like(deviation, Scalar(Limits::infinity()))
        .masked_fill(deviation.eq(0), Scalar(Limits::quiet_NaN()));
  }
  return deviation.mul(Scalar(2.0 / freedom));
}

}  // namespace

Tensor var_backward(const Tensor& grad, const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim) {
  return restore_reduced(grad, self.dim(), dim, keepdim).mul(var_slope(self, dim, correction));
}

Tensor std_backward(const Tensor& result, const Tensor& grad, const Tensor& self,
                    std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
  const Tensor scaled = grad.div(result.mul(Scalar(2))).masked_fill(result.eq(0), Scalar(0));
  return var_backward(scaled, self, dim, correction, keepdim);
}

namespace {

Tensor with_mean(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                 std::optional<IntList> dim, bool keepdim) {
  if (!grad_mean.defined()) return grad;
  const Tensor mean = mean_backward(grad_mean, self.sym_sizes(), self.dtype(), dim, keepdim);
  return grad.defined() ? grad.add(mean) : mean;
}

}  // namespace

Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self,
                         std::optional<IntList> dim, std::optional<Scalar> correction,
                         bool keepdim) {
  const Tensor grad =
      grad_var.defined() ? var_backward(grad_var, self, dim, correction, keepdim) : Tensor();
  return with_mean(grad, grad_mean, self, dim, keepdim);
}

Tensor std_mean_backward(const Tensor& std, const Tensor& grad_std, const Tensor& grad_mean,
                         const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim) {
  const Tensor grad =
      grad_std.defined() ? std_backward(std, grad_std, self, dim, correction, keepdim) : Tensor();
  return with_mean(grad, grad_mean, self, dim, keepdim);
}

Tensor var_forward(const Tensor& self, const Tensor& tangent, std::optional<IntList> dim,
                   std::optional<Scalar> correction, bool keepdim) {
  const Tensor along = var_slope(self, dim, correction).conj().mul(tangent);
  return (self.is_complex() ? taeda::real(along) : along).sum(dim, keepdim);
}

Tensor std_forward(const Tensor& result, const Tensor& self, const Tensor& tangent,
                   std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
  return var_forward(self, tangent, dim, correction, keepdim)
      .div(result.mul(Scalar(2)))
      .masked_fill(result.eq(0), Scalar(0));
}

Tensor mean_forward(const Tensor& tangent, std::optional<IntList> dim, bool keepdim) {
  return tangent.mean(dim, keepdim);
}

}  // namespace taeda::gradients
