// Derivative helpers of the losses.
#include "taeda/ops/loss/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {

Tensor nll_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
                         const Tensor& total_weight) {
  if (!grad.defined()) return Tensor();
  return taeda::nll_loss_backward(grad, self, target, weight, reduction, ignore_index,
                                  total_weight);
}

Tensor nll_loss2d_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                           const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
                           const Tensor& total_weight) {
  if (!grad.defined()) return Tensor();
  return taeda::nll_loss2d_backward(grad, self, target, weight, reduction, ignore_index,
                                    total_weight);
}

Tensor fused_cross_entropy_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                    int64_t reduction, const SymInt& ignore_index,
                                    const Tensor& norms, const Tensor& count, bool is_recorded) {
  if (!grad.defined()) return Tensor();
  if (!is_recorded)
    return taeda::_fused_cross_entropy_backward(grad, self, target, reduction, ignore_index, norms,
                                                count);
  const Tensor inner = taeda::nll_loss_backward(grad, self, target, Tensor(), reduction,
                                                ignore_index, count.detach());
  return inner.sub(taeda::softmax(self, 1).mul(inner.sum(IntList({1}), /*keepdim=*/true)));
}

Tensor mse_loss_self_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                              int64_t reduction) {
  const Tensor difference = self.sub(target);
  const SymInt count = reduction == 1 ? difference.sym_numel() : SymInt(1);
  const Tensor scaled = count.is_symbolic()
                            ? grad.mul(Scalar(2.0)).div(Scalar(count))
                            : grad.mul(Scalar(2.0 / static_cast<double>(count.word())));
  return cast_gradient(sum_to(difference.mul(scaled), self.sym_sizes()), self.dtype());
}

Tensor fused_cross_entropy_forward(const Tensor& self, const Tensor& tangent, const Tensor& target,
                                   int64_t reduction, const SymInt& ignore_index) {
  const Tensor mean = taeda::softmax(self, 1).mul(tangent).sum(IntList({1}), /*keepdim=*/true);
  return taeda::nll_loss(tangent.sub(mean), target, Tensor(), reduction, ignore_index);
}

Tensor mse_loss_forward(const Tensor& self, const Tensor& self_tangent, const Tensor& target,
                        const Tensor& target_tangent, int64_t reduction) {
  const Tensor slope = self.sub(target).mul(Scalar(2)).mul(self_tangent.sub(target_tangent));
  return reduction == 0 ? slope : reduction == 1 ? slope.mean() : slope.sum();
}

}  // namespace taeda::gradients
