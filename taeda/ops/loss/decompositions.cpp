// Losses and their gradients as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/operators.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// The rows that count, and the class each of them is compared at.
struct Targets {
  Targets(const Tensor& self, const Tensor& target, const SymInt& ignore_index)
      : class_dim(self.dim() == 1 ? 0 : 1) {
    const Tensor classes = self.dim() == 1 ? target.reshape({}) : target;
    ignored = taeda::eq(classes, Scalar(ignore_index));
    index = taeda::where(ignored, Scalar(0), classes).to(DType::Int64).unsqueeze(class_dim);
  }
  // The element of each row's class.
  Tensor pick(const Tensor& t) const {
    return taeda::squeeze(taeda::gather(t, class_dim, index), class_dim);
  }
  Tensor counted(const Tensor& rows) const { return taeda::where(ignored, Scalar(0), rows); }

  int64_t class_dim;
  Tensor ignored, index;
};

// The classes' weights along their dimension, as large as the input.
Tensor weights_like(const Tensor& self, const Tensor& weight, int64_t class_dim) {
  SymIntVec shape(static_cast<size_t>(self.dim()), SymInt(1));
  shape[static_cast<size_t>(class_dim)] = weight.sym_size(0);
  return taeda::view(weight, SymIntList(shape)).expand(self.sym_sizes());
}

Tensor total_of(const Tensor& t) { return ops::sum_dim_IntList(t, std::nullopt, false, {}); }

std::tuple<Tensor, Tensor> nll_forward(const Tensor& self, const Tensor& target,
                                       const Tensor& weight, int64_t reduction,
                                       const SymInt& ignore_index) {
  const Wide w({&self});
  const Targets t(self, target, ignore_index);
  Tensor rows = taeda::neg(t.pick(w(self)));
  Tensor weights;
  if (weight.defined()) {
    weights = t.counted(t.pick(weights_like(self, w(weight), t.class_dim)));
    rows = rows * weights;
  }
  rows = t.counted(rows);
  // Where nothing is summed, only the one row of a vector of scores tells its weight.
  if (reduction == kNone && self.dim() > 1)
    return {w.rounded(rows), taeda::full({}, Scalar(0), self.dtype(), {}, self.device())};
  const Tensor total = weight.defined() ? total_of(weights)
                                        : total_of(taeda::logical_not(t.ignored)).to(w.compute());
  const Tensor loss = total_of(rows);
  return {w.rounded(reduction == kMean ? loss / total : loss), w.rounded(total)};
}

Tensor nll_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                    const Tensor& weight, int64_t reduction, const SymInt& ignore_index,
                    const Tensor& total_weight) {
  const Wide w({&self});
  const Targets t(self, target, ignore_index);
  Tensor grad = w(grad_output);
  if (reduction == kMean) grad = grad / w(total_weight);
  if (grad.dim() < target.dim() || self.dim() > 1) grad = grad.expand(t.ignored.sym_sizes());
  Tensor rows = taeda::neg(t.counted(grad)).unsqueeze(t.class_dim);
  if (weight.defined())
    rows = rows * taeda::gather(weights_like(self, w(weight), t.class_dim), t.class_dim, t.index);
  const Tensor zeros = taeda::full(self.sym_sizes(), Scalar(0), w.compute(), {}, self.device());
  return w.rounded(taeda::scatter(zeros, t.class_dim, t.index, rows));
}

}  // namespace

TAEDA_DECOMPOSITION(nll_loss_forward,
                    (const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, SymInt ignore_index)) {
  return nll_forward(self, target, weight, reduction, ignore_index);
}
TAEDA_DECOMPOSITION(nll_loss2d_forward,
                    (const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, SymInt ignore_index)) {
  return nll_forward(self, target, weight, reduction, ignore_index);
}
TAEDA_DECOMPOSITION(nll_loss_backward,
                    (const Tensor& grad_output, const Tensor& self, const Tensor& target,
                     const Tensor& weight, int64_t reduction, SymInt ignore_index,
                     const Tensor& total_weight)) {
  return nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight);
}
TAEDA_DECOMPOSITION(nll_loss2d_backward,
                    (const Tensor& grad_output, const Tensor& self, const Tensor& target,
                     const Tensor& weight, int64_t reduction, SymInt ignore_index,
                     const Tensor& total_weight)) {
  return nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight);
}

// norms: the greatest element of each row, and the logarithm of its sum of exponents above it.
TAEDA_DECOMPOSITION(_fused_cross_entropy, (const Tensor& self, const Tensor& target,
                                           int64_t reduction, SymInt ignore_index)) {
  const Targets t(self, target, ignore_index);
  const Tensor top = taeda::amax(self, IntList({1}), true);
  const Tensor log_sum =
      taeda::log(ops::sum_dim_IntList(taeda::exp(self - top), IntList({1}), true, {}));
  const Tensor norms = taeda::cat({top, log_sum}, 1);
  const Tensor rows = t.counted(taeda::squeeze(top, int64_t{1}) - t.pick(self) +
                                taeda::squeeze(log_sum, int64_t{1}));
  const Tensor count = total_of(taeda::logical_not(t.ignored)).to(self.dtype());
  if (reduction == kNone) return {rows, norms, count};
  const Tensor loss = total_of(rows);
  return {reduction == kMean ? loss / count : loss, norms, count};
}

TAEDA_DECOMPOSITION(_fused_cross_entropy_backward,
                    (const Tensor& grad_output, const Tensor& self, const Tensor& target,
                     int64_t reduction, SymInt ignore_index, const Tensor& norms,
                     const Tensor& count)) {
  const Targets t(self, target, ignore_index);
  const Tensor scale =
      t.counted((reduction == kMean ? grad_output / count : grad_output).expand(target.sym_sizes()))
          .unsqueeze(1);
  const auto part = [&](int64_t i) { return taeda::slice(norms, 1, SymInt(i), SymInt(i + 1), 1); };
  const Tensor softmax = taeda::exp(self - part(0) - part(1));
  const Tensor zeros = taeda::full(self.sym_sizes(), Scalar(0), self.dtype(), {}, self.device());
  return softmax * scale - taeda::scatter(zeros, 1, t.index, scale);
}

TAEDA_DECOMPOSITION(_squared_difference, (const Tensor& self, const Tensor& target)) {
  const Wide w({&self, &target});
  const Tensor difference = w(self) - w(target);
  return w.rounded(difference * difference);
}
TAEDA_DECOMPOSITION(_reduced_squared_difference,
                    (const Tensor& self, const Tensor& target, bool mean)) {
  const Wide w({&self, &target});
  const Tensor difference = w(self) - w(target), square = difference * difference;
  return w.rounded(mean ? ops::mean(square, {}) : total_of(square));
}

TAEDA_DECOMPOSITION(_smooth_l1, (const Tensor& self, const Tensor& target, double beta)) {
  const Wide w({&self, &target});
  const Tensor z = taeda::abs(w(self) - w(target));
  const Tensor far = z - Scalar(0.5 * beta);
  return w.rounded(
      taeda::where(taeda::lt(z, Scalar(beta)), Scalar(0.5) * z * z / Scalar(beta), far));
}
TAEDA_DECOMPOSITION(_huber, (const Tensor& self, const Tensor& target, double delta)) {
  const Wide w({&self, &target});
  const Tensor z = taeda::abs(w(self) - w(target));
  const Tensor far = Scalar(delta) * (z - Scalar(0.5 * delta));
  return w.rounded(taeda::where(taeda::le(z, Scalar(delta)), Scalar(0.5) * z * z, far));
}
TAEDA_DECOMPOSITION(_soft_margin, (const Tensor& self, const Tensor& target)) {
  const Wide w({&self, &target});
  return w.rounded(taeda::log1p(taeda::exp(taeda::neg(w(target)) * w(self))));
}
TAEDA_DECOMPOSITION(_binary_cross_entropy, (const Tensor& self, const Tensor& target)) {
  const Wide w({&self, &target});
  const Tensor x = w(self), t = w(target);
  const auto limited = [](const Tensor& log) { return taeda::clamp(log, Scalar(-100.0)); };
  return w.rounded((t - Scalar(1.0)) * limited(taeda::log1p(taeda::neg(x))) -
                   t * limited(taeda::log(x)));
}

}  // namespace taeda
