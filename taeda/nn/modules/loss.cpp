// Losses.
#include "taeda/nn/modules/loss.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/loss/functions.h"

namespace taeda::nn {
namespace {

int64_t number(Reduction reduction) { return static_cast<int64_t>(reduction); }

}  // namespace

std::ostream& operator<<(std::ostream& stream, Reduction reduction) {
  return stream << (reduction == Reduction::None   ? "none"
                    : reduction == Reduction::Mean ? "mean"
                                                   : "sum");
}

Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::l1_loss(input, target, number(options.reduction()));
}

Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::mse_loss(input, target, number(options.reduction()));
}

Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::smooth_l1_loss(input, target, number(options.reduction()), options.beta());
}

Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::huber_loss(input, target, number(options.reduction()), options.delta());
}

Tensor SoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::soft_margin_loss(input, target, number(options.reduction()));
}

Tensor KLDivLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::kl_div(input, target, number(options.reduction()), options.log_target());
}

Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::nll_loss_nd(input, target, options.weight(), number(options.reduction()),
                            options.ignore_index());
}

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::cross_entropy_loss(input, target, options.weight(), number(options.reduction()),
                                   options.ignore_index(), options.label_smoothing());
}

Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::binary_cross_entropy(input, target, options.weight(), number(options.reduction()));
}

Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return taeda::binary_cross_entropy_with_logits(input, target, options.weight(),
                                                 options.pos_weight(), number(options.reduction()));
}

}  // namespace taeda::nn
