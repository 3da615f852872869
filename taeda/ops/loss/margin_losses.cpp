// Losses of classes whose scores come within a margin of the targets'.
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/declarations.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/margins.h"
#include "taeda/ops/loss/reduction.h"
#include "taeda/ops/scalar_type.h"
#include "taeda/ops/shape.h"

namespace taeda {
namespace {

void check_scores(const Tensor& self) {
  const bool is_filled = self.dim() == 0 || (self.dim() <= 2 && self.sym_size(-1) != SymInt(0));
  TAEDA_CHECK(is_filled,
              "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
              self.sym_sizes());
}

}  // namespace

Margins::Margins(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                 const Tensor& weight)
    : order(p.to_double()) {
  TAEDA_CHECK(order == 1 || order == 2, "only p == 1 and p == 2 supported");
  check_scores(self);
  const SymInt rows = self.dim() == 2 ? self.sym_size(0) : SymInt(1);
  classes = self.dim() == 0 ? SymInt(1) : self.sym_size(-1);
  TAEDA_CHECK(target.dim() <= 1 && target.sym_numel() == rows,
              "multi_margin_loss: target tensor should be 1-D with size equal to the number of "
              "input samples (batch size). Expected target size [",
              rows, "], but got ", target.sym_sizes(), ". Input has shape ", self.sym_sizes(), ".");
  TAEDA_CHECK(!weight.defined() || (weight.dim() <= 1 && weight.sym_numel() == classes),
              "inconsistent weight size, expected ", classes, " but got ", weight.sym_sizes());
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() == DType::Float || self.dtype() == DType::Double,
                              "\"multi_margin_loss_cpu_kernel\" not implemented for '",
                              self.dtype(), "'");
  check_scalar_type(DType::Int64, target);
  check_scalar_type(self.dtype(), weight);
  const Tensor scores = self.reshape({rows, classes});
  index = target.reshape({rows, SymInt(1)});
  if (!index.is_meta() && !dispatch::is_batched(index)) {
    const Tensor is_class = index.ge(Scalar(0)).logical_and(index.lt(Scalar(classes)));
    TAEDA_CHECK(read_scalar(dispatch::plain_value(is_class.all())).to_bool(),
                "target out of range");
  }
  const Tensor near = scores.sub(scores.gather(1, index)).add(margin);
  excess = near.clamp_min(Scalar(0)).scatter(1, index, Scalar(0));
  if (weight.defined())
    share = weight.reshape({classes}).gather(0, target.reshape({rows})).reshape({rows, SymInt(1)});
}

Tensor Margins::rows() const {
  Tensor each = order == 1 ? excess : excess.mul(excess);
  if (share.defined()) each = each.mul(share);
  return each.sum(IntList({1})).div(Scalar(classes));
}

Tensor Margins::slope() const {
  Tensor each = order == 1 ? excess.gt(Scalar(0)).to(excess.dtype()) : excess.mul(Scalar(2));
  if (share.defined()) each = each.mul(share);
  each = each.div(Scalar(classes));
  return each.scatter(1, index, each.sum(IntList({1}), /*keepdim=*/true).neg());
}

namespace impl {

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction) {
  const Tensor rows = Margins(self, target, p, margin, weight).rows();
  if (reduction == kNone && target.dim() == 0) return rows.reshape({});
  return reduced(rows, reduction);
}

Tensor multi_margin_loss_backward(const Tensor& grad_output, const Tensor& self,
                                  const Tensor& target, const Scalar& p, const Scalar& margin,
                                  const Tensor& weight, int64_t reduction) {
  const Tensor slope = Margins(self, target, p, margin, weight).slope();
  check_scalar_type(self.dtype(), grad_output);
  const Tensor grad = grad_output.reshape({SymInt(-1), SymInt(1)});
  const Tensor share = reduction == kMean ? grad.div(Scalar(slope.sym_size(0))) : grad;
  return slope.mul(share).reshape(self.sym_sizes());
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return std::get<0>(taeda::multilabel_margin_loss_forward(self, target, reduction));
}

namespace {

void check_labels(const Tensor& self, const Tensor& target) {
  check_scores(self);
  const bool fits = self.dim() <= 1 ? target.dim() <= 1 && target.sym_numel() == self.sym_numel()
                                    : target.sym_sizes() == self.sym_sizes();
  TAEDA_CHECK(fits, "inconsistent target size: ", target.sym_sizes(),
              " for input of size: ", self.sym_sizes());
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() == DType::Float || self.dtype() == DType::Double,
                              "\"multilabel_margin_loss_forward_out_frame\" not implemented for '",
                              self.dtype(), "'");
  check_scalar_type(DType::Int64, target);
}

}  // namespace

std::array<OutSpec, 2> multilabel_margin_loss_forward_spec(const Tensor& self, const Tensor& target,
                                                           int64_t reduction) {
  check_labels(self, target);
  const bool is_each = reduction == kNone && target.dim() == 2;
  return {
      OutSpec(is_each ? self.sym_sizes().slice(0, 1) : SymIntList(), self.dtype(), self.device()),
      OutSpec(target.sym_sizes(), self.dtype(), self.device())};
}

OutSpec multilabel_margin_loss_backward_spec(const Tensor& grad_output, const Tensor& self,
                                             const Tensor& target, int64_t,
                                             const Tensor& is_target) {
  check_labels(self, target);
  check_scalar_type(self.dtype(), grad_output);
  const SymInt rows = self.dim() == 2 ? self.sym_size(0) : SymInt(1),
               given = grad_output.sym_numel();
  TAEDA_CHECK(given == SymInt(1) || given == rows,
              "multilabel_margin_loss_backward: got a gradient of ", grad_output.sym_sizes(),
              " for scores of ", self.sym_sizes());
  TAEDA_CHECK(is_target.sym_sizes() == target.sym_sizes(),
              "inconsistent is_target size: ", is_target.sym_sizes(),
              " for target of size: ", target.sym_sizes());
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                                   int64_t reduction) {
  const Tensor yes = target.mul(taeda::log_sigmoid(self));
  const Tensor no = (1 - target).mul(taeda::log_sigmoid(self.neg()));
  Tensor loss = yes.add(no).neg();
  if (weight.defined()) loss = loss.mul(weight);
  const int64_t class_dim = self.dim() - 1;
  const Tensor rows = loss.sum(IntList({class_dim})).div(Scalar(self.sym_size(class_dim)));
  return reduced(rows, reduction);
}

}  // namespace impl
}  // namespace taeda
