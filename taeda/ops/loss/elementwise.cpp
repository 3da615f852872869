// Losses that compare elements or vectors: how each follows from other operators.
#include <cmath>

#include "taeda/dispatch/levels.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/declarations.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/operators.h"
#include "taeda/ops/loss/reduction.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

Tensor positive_part(const Tensor& x) { return x.clamp_min(Scalar(0)); }

// Whether an element is negative, of all examples under vmap. Nobody knows where the values are
// not there, and a trace must not depend on them.
bool has_negative(Tensor t) {
  while (const dispatch::LevelWrapper* w = dispatch::wrapper_of(t)) t = w->value;
  const KeySet keys = t.keys();
  if (t.is_meta() || keys.has(Key::Fake) || (keys | local_keys().include).has(Key::Python))
    return false;
  return t.detach().lt(Scalar(0)).any().item().to_bool();
}

// The variances beside the input: one for each element, for each row, or for all along a dimension.
Tensor spread_variance(const Tensor& var, const Tensor& input) {
  const SymIntList sizes = input.sym_sizes(), own = var.sym_sizes();
  if (own == sizes) return var;
  const size_t n = sizes.size();
  if (own.size() + 1 == n && own == SymIntList(sizes.data(), n - 1)) return var.unsqueeze(-1);
  int num_other = 0, num_single = 0;
  for (size_t i = 0; i < std::min(n, own.size()); ++i)
    if (own[i] != sizes[i]) ++num_other, num_single += own[i] == SymInt(1);
  TAEDA_CHECK_VALUE(own.size() == n && num_other == 1 && num_single == 1,
                    "var is of incorrect size");
  return var;
}

// The result of PyTorch's function has the input's shape, whatever stands beside it.
void check_shape_stays(const Tensor& input, const Tensor& other) {
  const SymIntVec wide = broadcast_shapes(input.sym_sizes(), other.sym_sizes());
  TAEDA_CHECK(SymIntList(wide) == input.sym_sizes(), "output with shape ", input.sym_sizes(),
              " doesn't match the broadcast shape ", SymIntList(wide));
}
Tensor scaled(const Tensor& loss, const Tensor& weight) {
  if (!weight.defined()) return loss;
  check_shape_stays(loss, weight);
  return loss.mul(weight);
}

// A loss times the weights of its elements.
Tensor weighted(const Tensor& loss, const Tensor& weight, const Tensor& input) {
  TAEDA_CHECK_VALUE(weight.sym_sizes() == input.sym_sizes(),
                    "Weights and input must have the same size.");
  return loss.mul(weight);
}

// A mean is that of weighted elements.
Tensor reduced_by_weight(const Tensor& loss, const Tensor& weight, int64_t reduction) {
  return reduction == kMean ? loss.sum().div(weight.sum()) : reduced(loss, reduction);
}

Tensor difference(const Tensor& self, const Tensor& target) {
  const Tensor both[] = {self, target};
  const std::vector<Tensor> wide = taeda::broadcast_tensors(both);
  return wide[0].sub(wide[1]);
}

}  // namespace

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TAEDA_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return taeda::l1_loss(self, target, reduction);
  return reduced(ops::_smooth_l1(self, target, beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TAEDA_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  // The result has the input's dtype, not the common one.
  return reduced(ops::_huber(self, target, delta), reduction).to(self.dtype());
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_shape_stays(self, target);
  return reduced(ops::_soft_margin(self, target), reduction).to(self.dtype());
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  TAEDA_CHECK(target.dtype() == self.dtype(), "Found dtype ", target.dtype(), " but expected ",
              self.dtype());
  check_shape_stays(self, target);
  return reduced(scaled(ops::_binary_cross_entropy(self, target), weight), reduction);
}

namespace {

// PyTorch's loss writes over a copy of the target, which has to hold it.
void check_written_to(const Tensor& target, const SymIntVec& sizes, DType dtype) {
  TAEDA_CHECK(can_cast(dtype, target.dtype()), "result type ", dtype,
              " can't be cast to the desired output type ", target.dtype());
  TAEDA_CHECK(target.sym_sizes() == SymIntList(sizes), "output with shape ", target.sym_sizes(),
              " doesn't match the broadcast shape ", SymIntList(sizes));
}

// It is scaled where it lies, so weights may not widen it.
void check_scaled(const Tensor& loss, const Tensor& weight) {
  const Tensor* const factors[] = {&loss, &weight};
  check_written_to(loss, broadcast_shapes(loss.sym_sizes(), weight.sym_sizes()),
                   result_type(factors));
}

}  // namespace

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  const Tensor* const inputs[] = {&self, &target};
  check_written_to(target, broadcast_shapes(self.sym_sizes(), target.sym_sizes()),
                   result_type(inputs));
  Tensor log = taeda::log_sigmoid(self);
  if (pos_weight.defined()) {
    const Tensor share = pos_weight.sub(Scalar(1)).mul(target).add(Scalar(1));
    check_scaled(log, share);
    log = log.mul(share).to(log.dtype());
  }
  const Tensor loss = (1 - target).mul(self).sub(log).to(target.dtype());
  if (weight.defined()) check_scaled(loss, weight);
  return reduced(scaled(loss, weight).to(loss.dtype()), reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  TAEDA_CHECK(!self.is_complex() && !target.is_complex(), "kl_div: Complex inputs not supported.");
  TAEDA_CHECK(self.is_floating_point() && target.is_floating_point(),
              "kl_div: Integral inputs not supported.");
  if (log_target) return reduced(target.exp().mul(target.sub(self)), reduction);
  // target * log(target), zero where the target is.
  const Tensor safe = target.masked_fill(target.eq(Scalar(0)), Scalar(1));
  return reduced(target.mul(safe.log()).sub(target.mul(self)), reduction);
}

Tensor _kl_div_batchmean(const Tensor& self, const Tensor& target, int64_t reduction,
                         bool log_target) {
  const Tensor loss = taeda::kl_div(self, target, reduction, log_target);
  return self.dim() ? loss.div(Scalar(self.sym_size(0))) : loss;
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction) {
  Tensor loss = log_input ? input.exp().sub(target.mul(input))
                          : input.sub(target.mul(input.add(Scalar(eps)).log()));
  if (full) {
    const Tensor is_small = target.le(Scalar(1));
    const Tensor safe = target.masked_fill(is_small, Scalar(1));
    const Tensor stirling =
        safe.mul(safe.log()).sub(safe).add(safe.mul(Scalar(2 * M_PI)).log().mul(Scalar(0.5)));
    loss = loss.add(stirling.masked_fill(is_small, Scalar(0)));
  }
  return reduced(loss, reduction);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full,
                         double eps, int64_t reduction) {
  TAEDA_CHECK_VALUE(!has_negative(var), "var has negative entry/entries");
  const Tensor spread = spread_variance(var, input);
  TAEDA_CHECK(!is_integral(var.dtype(), true), "result type ", default_dtype(),
              " can't be cast to the desired output type ", cpp_name(var.dtype()));
  // The floor has no part in the gradient.
  const Tensor value = spread.detach();
  const Tensor lacking = taeda::where(value.lt(Scalar(eps)), Scalar(eps) - value, Scalar(0));
  const Tensor floored = spread.add(lacking);
  const Tensor difference = input.sub(target);
  Tensor loss = floored.log().add(difference.mul(difference).div(floored)).mul(Scalar(0.5));
  if (full) loss = loss.add(Scalar(0.5 * std::log(2 * M_PI)));
  return reduced(loss, reduction);
}

Tensor gaussian_nll_loss_float(const Tensor& input, const Tensor& target, double var, bool full,
                               double eps, int64_t reduction) {
  TAEDA_CHECK_VALUE(!(var < 0), "var has negative entry/entries");
  const Tensor each = taeda::ones_like(input).mul(Scalar(var));
  return taeda::gaussian_nll_loss(input, target, each, full, eps, reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction) {
  // The margin is a number of the input's dtype.
  const Tensor lacking = positive_part(taeda::full_like(self, Scalar(margin)).sub(self));
  const Tensor unlike = taeda::where(target.ne(Scalar(1)), lacking, Scalar(0));
  const Tensor alike = taeda::where(target.ne(Scalar(-1)), self, Scalar(0));
  return reduced(unlike.add(alike), reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  TAEDA_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
              "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
              "input1: torch.Size(",
              input1.sym_sizes(), "), input2: torch.Size(", input2.sym_sizes(),
              "), target: torch.Size(", target.sym_sizes(), ") ");
  const Tensor rank = target.neg().mul(input1.sub(input2));
  return reduced(positive_part(rank.add(Scalar(margin))), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction) {
  TAEDA_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  if (target.dim() == 1) {
    TAEDA_CHECK(input1.dim() == 2 && input2.dim() == 2,
                "1D target tensor expects 2D input tensors, but found inputs with sizes ",
                input1.sym_sizes(), " and ", input2.sym_sizes(), ".");
  } else {
    TAEDA_CHECK(input1.dim() == 1 && input2.dim() == 1,
                "0D target tensor expects 1D input tensors, but found inputs with sizes ",
                input1.sym_sizes(), " and ", input2.sym_sizes(), ".");
  }
  constexpr double kEpsilon = 1e-12;
  const int64_t along[] = {target.dim()};
  const IntList last(along);
  const auto square = [&](const Tensor& x) { return x.mul(x).sum(last).add(Scalar(kEpsilon)); };
  const Tensor cosine = input1.mul(input2).sum(last).div(square(input1).mul(square(input2)).sqrt());
  const Tensor beyond = positive_part(cosine.sub(Scalar(margin)));
  const Tensor alike = taeda::where(target.eq(Scalar(1)), 1 - cosine, Scalar(0));
  const Tensor unlike = taeda::where(target.eq(Scalar(-1)), beyond, Scalar(0));
  return reduced(alike.add(unlike), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  TAEDA_CHECK(anchor.dim() == positive.dim() && positive.dim() == negative.dim(),
              "The anchor, positive, and negative tensors are expected to have the same number of "
              "dimensions, but got: anchor ",
              anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(),
              "D inputs");
  const Tensor near = taeda::pairwise_distance(anchor, positive, p, eps);
  Tensor far = taeda::pairwise_distance(anchor, negative, p, eps);
  if (swap) far = taeda::minimum(far, taeda::pairwise_distance(positive, negative, p, eps));
  return reduced(positive_part(near.sub(far).add(Scalar(margin))), reduction);
}

Tensor _weighted_mse_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction) {
  const Tensor loss = difference(self, target).pow(Scalar(2));
  return reduced_by_weight(weighted(loss, weight, self), weight, reduction);
}
Tensor _weighted_l1_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction) {
  const Tensor loss = difference(self, target).abs();
  return reduced_by_weight(weighted(loss, weight, self), weight, reduction);
}
Tensor _weighted_huber_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction, double delta) {
  const Tensor loss = taeda::huber_loss(self, target, kNone, delta);
  return reduced(weighted(loss, weight, self), reduction);
}

}  // namespace taeda::impl
