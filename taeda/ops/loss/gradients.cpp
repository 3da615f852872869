// Derivative helpers of the losses.
#include "taeda/ops/loss/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/margins.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::gradients {
namespace {

// The gradient of one input of a loss, from its slope at each element.
Tensor through(const Tensor& grad, const Tensor& slope, const Tensor& input, int64_t reduction) {
  const Tensor share = reduction == 1 ? grad.div(Scalar(slope.sym_numel())) : grad;
  return cast_gradient(sum_to(slope.mul(share), input.sym_sizes()), input.dtype());
}

Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == 1 ? loss.mean() : reduction == 2 ? loss.sum() : loss;
}

Tensor smooth_l1_slope(const Tensor& self, const Tensor& target, double beta) {
  const Tensor difference = self.sub(target);
  if (beta == 0) return difference.sign();
  return difference.div(Scalar(beta)).clamp(Scalar(-1.0), Scalar(1.0));
}

Tensor huber_slope(const Tensor& self, const Tensor& target, double delta) {
  return self.sub(target).clamp(Scalar(-delta), Scalar(delta));
}

Tensor soft_margin_slope(const Tensor& self, const Tensor& target) {
  return target.mul(target.mul(self).neg().sigmoid()).neg();
}

Tensor weighted(const Tensor& slope, const Tensor& weight) {
  return weight.defined() ? slope.mul(weight) : slope;
}

Tensor binary_cross_entropy_slope(const Tensor& self, const Tensor& target, const Tensor& weight) {
  const Tensor spread = self.mul(1 - self).clamp_min(Scalar(1e-12));
  return weighted(self.sub(target).div(spread), weight);
}

Tensor binary_cross_entropy_target_slope(const Tensor& self, const Tensor& weight) {
  return weighted(self.neg().log1p().sub(self.log()), weight);
}

}  // namespace

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
                            : grad.div(Scalar(static_cast<double>(count.word()) / 2));
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

Tensor smooth_l1_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta) {
  return through(grad, smooth_l1_slope(self, target, beta), self, reduction);
}

Tensor huber_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                           int64_t reduction, double delta) {
  return through(grad, huber_slope(self, target, delta), self, reduction);
}

Tensor soft_margin_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  return through(grad, soft_margin_slope(self, target), self, reduction);
}

Tensor binary_cross_entropy_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const Tensor& weight, int64_t reduction) {
  return through(grad, binary_cross_entropy_slope(self, target, weight), self, reduction);
}

Tensor binary_cross_entropy_target_gradient(const Tensor& grad, const Tensor& self,
                                            const Tensor& target, const Tensor& weight,
                                            int64_t reduction) {
  return through(grad, binary_cross_entropy_target_slope(self, weight), target, reduction);
}

Tensor smooth_l1_loss_forward(const Tensor& self, const Tensor& self_tangent, const Tensor& target,
                              const Tensor& target_tangent, int64_t reduction, double beta) {
  const Tensor along = self_tangent.sub(target_tangent);
  return reduced(smooth_l1_slope(self, target, beta).mul(along), reduction);
}

Tensor huber_loss_forward(const Tensor& self, const Tensor& self_tangent, const Tensor& target,
                          const Tensor& target_tangent, int64_t reduction, double delta) {
  const Tensor along = self_tangent.sub(target_tangent);
  return reduced(huber_slope(self, target, delta).mul(along), reduction);
}

Tensor soft_margin_loss_forward(const Tensor& self, const Tensor& self_tangent,
                                const Tensor& target, int64_t reduction) {
  return reduced(soft_margin_slope(self, target).mul(self_tangent), reduction);
}

Tensor binary_cross_entropy_forward(const Tensor& self, const Tensor& self_tangent,
                                    const Tensor& target, const Tensor& target_tangent,
                                    const Tensor& weight, int64_t reduction) {
  const Tensor by_self = binary_cross_entropy_slope(self, target, weight).mul(self_tangent);
  const Tensor by_target = binary_cross_entropy_target_slope(self, weight).mul(target_tangent);
  return reduced(by_self.add(by_target), reduction);
}

// ---- connectionist temporal classification, of lengths in lists and in tensors ----
namespace {

template <class Lengths>
Tensor ctc_loss_slope(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                      const Lengths& input_lengths, const Lengths& target_lengths,
                      const Tensor& losses, const Tensor& log_alpha, int64_t blank,
                      bool zero_infinity) {
  if (!grad.defined()) return grad;
  return taeda::_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, losses,
                                   log_alpha, blank, zero_infinity);
}

}  // namespace

Tensor ctc_loss_gradient(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         IntList input_lengths, IntList target_lengths, const Tensor& losses,
                         const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return ctc_loss_slope(grad, log_probs, targets, input_lengths, target_lengths, losses, log_alpha,
                        blank, zero_infinity);
}

Tensor ctc_loss_forward(const Tensor& log_probs, const Tensor& tangent, const Tensor& targets,
                        IntList input_lengths, IntList target_lengths, const Tensor& losses,
                        const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  const Tensor slope = ctc_loss_slope(taeda::ones_like(losses), log_probs, targets, input_lengths,
                                      target_lengths, losses, log_alpha, blank, zero_infinity);
  return slope.mul(tangent).sum(IntList({0, 2}));
}

Tensor ctc_loss_gradient(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const Tensor& input_lengths, const Tensor& target_lengths,
                         const Tensor& losses, const Tensor& log_alpha, int64_t blank,
                         bool zero_infinity) {
  return ctc_loss_slope(grad, log_probs, targets, input_lengths, target_lengths, losses, log_alpha,
                        blank, zero_infinity);
}

Tensor ctc_loss_forward(const Tensor& log_probs, const Tensor& tangent, const Tensor& targets,
                        const Tensor& input_lengths, const Tensor& target_lengths,
                        const Tensor& losses, const Tensor& log_alpha, int64_t blank,
                        bool zero_infinity) {
  const Tensor slope = ctc_loss_slope(taeda::ones_like(losses), log_probs, targets, input_lengths,
                                      target_lengths, losses, log_alpha, blank, zero_infinity);
  return slope.mul(tangent).sum(IntList({0, 2}));
}

Tensor multi_margin_loss_forward(const Tensor& self, const Tensor& tangent, const Tensor& target,
                                 const Scalar& p, const Scalar& margin, const Tensor& weight,
                                 int64_t reduction) {
  const Tensor slope = Margins(self, target, p, margin, weight).slope();
  const Tensor rows = slope.mul(tangent.reshape(slope.sym_sizes())).sum(IntList({1}));
  return reduction == 0 ? rows.reshape(target.sym_sizes()) : reduced(rows, reduction);
}

Tensor multilabel_margin_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target,
                                       int64_t reduction, const Tensor& is_target) {
  if (!grad.defined()) return grad;
  return taeda::multilabel_margin_loss_backward(grad, self, target, reduction, is_target);
}

Tensor multilabel_margin_loss_tangent(const Tensor& tangent, const Tensor& self,
                                      const Tensor& target, int64_t reduction,
                                      const Tensor& is_target) {
  const bool is_each = reduction == 0 && self.dim() == 2;
  const SymIntList sizes = is_each ? self.sym_sizes().slice(0, 1) : SymIntList();
  const Tensor one = taeda::ones(sizes, self.dtype(), {}, self.device());
  const Tensor slope =
      taeda::multilabel_margin_loss_backward(one, self, target, reduction, is_target);
  const Tensor product = slope.mul(tangent);
  return is_each ? product.sum(IntList({1})) : product.sum();
}

}  // namespace taeda::gradients
