// Derivative helpers of running extremes and running sums of exponentials.
#include "taeda/ops/scans/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/scans/functions.h"

namespace taeda::gradients {
namespace {

// A logarithm whose exponential is zero; finite, so that its derivative is zero too.
Scalar almost_nothing(DType dtype) { return Scalar(dtype == DType::Half ? -65504.0 : -3e38); }

}  // namespace

Tensor running_extreme_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                const Tensor& indices) {
  if (!grad.defined() || sizes.empty()) return grad;
  return grad.new_zeros(sizes).scatter_add(dim, indices, grad);
}

// Each result passes exp(self - result) of its gradient on to the elements before it. Gradients of
// both signs are summed as logarithms, apart from each other, so that no exponential overflows;
// logarithms of complex gradients hold their signs.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim) {
  if (grad.dim() == 0 || grad.sym_numel() == SymInt(0)) return grad;
  const int64_t dims[] = {wrap_dim(dim, grad.dim())};
  const Scalar nothing = almost_nothing(grad.dtype());
  const auto passed_on = [&](const Tensor& is_counted, const Tensor& size) {
    const Tensor exponent = taeda::where(is_counted, size, nothing).sub(result);
    const Tensor sums = taeda::logcumsumexp(exponent.flip(dims), dims[0]).flip(dims);
    return sums.add(self).exp();
  };
  if (grad.is_complex()) return passed_on(grad.ne(Scalar(0)), grad.conj().log()).conj();
  const Tensor size = grad.abs().log();
  return passed_on(grad.gt(Scalar(0)), size).sub(passed_on(grad.lt(Scalar(0)), size));
}

// In logarithms as the gradient, so that elements far below the greatest keep their tangents.
Tensor logcumsumexp_forward(const Tensor& self, const Tensor& tangent, int64_t dim) {
  if (self.dim() == 0 || self.sym_numel() == SymInt(0)) return tangent;
  const Scalar nothing = almost_nothing(tangent.dtype());
  const Tensor result = taeda::logcumsumexp(self, dim);
  const auto carried = [&](const Tensor& is_counted, const Tensor& size) {
    const Tensor exponent = taeda::where(is_counted, size, nothing).add(self);
    return taeda::logcumsumexp(exponent, dim).sub(result).exp();
  };
  if (tangent.is_complex()) return carried(tangent.ne(Scalar(0)), tangent.log());
  const Tensor size = tangent.abs().log();
  return carried(tangent.gt(Scalar(0)), size).sub(carried(tangent.lt(Scalar(0)), size));
}

}  // namespace taeda::gradients
