// Derivative helpers of running extremes and running sums of exponentials.
#include "taeda/ops/scans/gradients.h"

#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/ops/scans/functions.h"

namespace taeda::gradients {

Tensor running_extreme_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                const Tensor& indices) {
  if (!grad.defined() || sizes.empty()) return grad;
  return grad.new_zeros(sizes).scatter_add(dim, indices, grad);
}

// Each result passes exp(self - result) of its gradient on to the elements before it. Gradients of
// both signs are summed as logarithms, apart from each other, so that no exponential overflows.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim) {
  if (grad.dim() == 0 || grad.sym_numel() == SymInt(0)) return grad;
  const int64_t dims[] = {wrap_dim(dim, grad.dim())};
  // Finite, so that its derivative is zero; its exponential is zero in every dtype.
  const Scalar nothing(grad.dtype() == DType::Half ? -65504.0 : -3e38);
  const Tensor size = grad.abs().log();
  const auto passed_on = [&](const Tensor& is_counted) {
    const Tensor exponent = taeda::where(is_counted, size, nothing).sub(result);
    const Tensor sums = taeda::logcumsumexp(exponent.flip(dims), dims[0]).flip(dims);
    return sums.add(self).exp();
  };
  return passed_on(grad.gt(Scalar(0))).sub(passed_on(grad.lt(Scalar(0))));
}

Tensor logcumsumexp_forward(const Tensor& self, const Tensor& tangent, int64_t dim) {
  if (self.dim() == 0 || self.sym_numel() == SymInt(0)) return tangent;
  const int64_t dims[] = {wrap_dim(dim, self.dim())};
  const Tensor weight = self.sub(self.amax(IntList(dims), /*keepdim=*/true)).exp();
  return weight.mul(tangent).cumsum(dims[0]).div(weight.cumsum(dims[0]));
}

}  // namespace taeda::gradients
