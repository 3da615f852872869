// Batching rules of the losses, from gather and sums over each example.
#include "taeda/ops/loss/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::batch {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// Targets as (batch, rows) and scores as (batch, rows, classes); images fold their pixels into
// rows.
struct Rows {
  Tensor target, safe, is_ignored, weight;
  SymIntVec shape;  // of the targets, batch included

  Rows(const Batched& given, const Batched& class_weight, const SymInt& ignore_index,
       const Tensor& like) {
    const SymInt& size = batch_context().size;
    const Tensor t = given.front_expanded(size);
    shape = SymIntVec(t.sym_sizes());
    target = t.reshape({size, SymInt(-1)});
    is_ignored = target.eq(Scalar(ignore_index));
    safe = target.masked_fill(is_ignored, Scalar(0));
    if (class_weight.defined()) {
      const Tensor w = class_weight.front_expanded(size);
      weight = w.gather(1, safe);
    } else {
      weight = taeda::ones_like(safe, like.dtype());
    }
    weight = weight.masked_fill(is_ignored, Scalar(0));
  }
};

// (batch, rows, classes) of scores whose classes stand behind the rows' first dimension.
Tensor folded(const Batched& self, bool is_image) {
  const SymInt& size = batch_context().size;
  Tensor x = self.front_expanded(size);
  if (self.rank() == 1) return x.unsqueeze(1);
  if (!is_image) return x;
  return x.movedim(2, -1).flatten(1, -2);
}

std::tuple<Batched, Batched> nll_forward(const Batched& self, const Batched& target,
                                         const Batched& weight, int64_t reduction,
                                         const SymInt& ignore_index, bool is_image) {
  const Tensor scores = folded(self, is_image);
  const Rows rows(target, weight, ignore_index, scores);
  const Tensor losses = scores.gather(2, rows.safe.unsqueeze(2)).squeeze(2).mul(rows.weight).neg();
  const Tensor total = rows.weight.sum(IntList({1}));
  // Where nothing is summed, only the one row of a vector of scores tells its weight.
  if (reduction == kNone)
    return {Batched(losses.reshape(rows.shape), 0),
            Batched(self.rank() == 1 ? total : taeda::zeros_like(total), 0)};
  const Tensor sum = losses.sum(IntList({1}));
  return {Batched(reduction == kMean ? sum.div(total) : sum, 0), Batched(total, 0)};
}

Batched nll_backward(const Batched& grad_output, const Batched& self, const Batched& target,
                     const Batched& weight, int64_t reduction, const SymInt& ignore_index,
                     const Batched& total_weight, bool is_image) {
  const SymInt& size = batch_context().size;
  const Tensor scores = folded(self, is_image);
  const Rows rows(target, weight, ignore_index, scores);
  Tensor grad = grad_output.front_expanded(size);
  grad = reduction == kNone ? grad.reshape(rows.target.sym_sizes()) : grad.unsqueeze(1);
  if (reduction == kMean)
    grad = grad.div(total_weight.front_expanded(size).reshape({size, SymInt(1)}));
  const Tensor each = grad.mul(rows.weight).neg();
  Tensor out = taeda::zeros_like(scores).scatter(2, rows.safe.unsqueeze(2), each.unsqueeze(2));
  if (self.rank() == 1) return {out.squeeze(1), 0};
  if (!is_image) return {out, 0};
  SymIntVec shape(rows.shape);
  shape.push_back(scores.sym_size(2));
  return {out.reshape(shape).movedim(-1, 2), 0};
}

}  // namespace

std::tuple<Batched, Batched> nll_loss_forward(const Batched& self, const Batched& target,
                                              const Batched& weight, int64_t reduction,
                                              SymInt ignore_index) {
  return nll_forward(self, target, weight, reduction, ignore_index, false);
}

std::tuple<Batched, Batched> nll_loss2d_forward(const Batched& self, const Batched& target,
                                                const Batched& weight, int64_t reduction,
                                                SymInt ignore_index) {
  return nll_forward(self, target, weight, reduction, ignore_index, true);
}

Batched nll_loss_backward(const Batched& grad_output, const Batched& self, const Batched& target,
                          const Batched& weight, int64_t reduction, SymInt ignore_index,
                          const Batched& total_weight) {
  return nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight,
                      false);
}

Batched nll_loss2d_backward(const Batched& grad_output, const Batched& self, const Batched& target,
                            const Batched& weight, int64_t reduction, SymInt ignore_index,
                            const Batched& total_weight) {
  return nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight,
                      true);
}

// Inside transforms the derivative is composed of softmax and nll_loss and never reads the norms:
// see fused_cross_entropy_gradient.
std::tuple<Batched, Batched, Batched> _fused_cross_entropy(const Batched& self,
                                                           const Batched& target, int64_t reduction,
                                                           SymInt ignore_index) {
  const Batched scores(taeda::log_softmax(self.front(), -1), self.dim < 0 ? -1 : 0);
  const auto [output, count] =
      nll_forward(scores, target, Batched(), reduction, ignore_index, false);
  return {output, Batched(), count};
}

Batched mse_loss(const Batched& self, const Batched& target, int64_t reduction) {
  const int64_t rank = std::max(self.rank(), target.rank());
  const Tensor difference = self.front_aligned(rank).sub(target.front_aligned(rank));
  const Tensor squares = difference.mul(difference);
  if (reduction == kNone) return {squares, 0};
  const Tensor lines = squares.reshape({squares.sym_size(0), SymInt(-1)});
  return {reduction == kMean ? lines.mean(IntList({1})) : lines.sum(IntList({1})), 0};
}

}  // namespace taeda::batch
