// Batching rules of losses over rows: the rows of all examples are rows of one call.
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/batching.h"
#include "taeda/ops/loss/functions.h"

namespace taeda::batch {
namespace {

enum RowReduction : int64_t { kEachRow = 0, kMeanOfRows = 1 };

// ---- multilabel_margin_loss ----

// (batch, rows, classes), one row for examples that are vectors or a single class.
Tensor label_rows(const Batched& b) {
  Tensor all = b.front_expanded(batch_context().size);
  for (int64_t rank = b.rank(); rank < 2; ++rank) all = all.unsqueeze(1);
  return all;
}
Tensor joined_rows(const Tensor& rows) { return rows.flatten(0, 1); }

// ---- _ctc_loss ----

// The sequences of all examples as those of one batch; `at`: their dimension in an example.
Tensor joined_sequences(const Batched& b, int64_t at) {
  const Tensor all = b.front_expanded(batch_context().size);
  return all.movedim(0, at).flatten(at, at + 1);
}
// Targets of one example after those of the one before, as rows or in one line.
Tensor joined_targets(const Batched& targets) {
  return targets.front_expanded(batch_context().size).flatten(0, 1);
}
std::vector<int64_t> repeated(IntList lengths) {
  std::vector<int64_t> out;
  for (int64_t b = 0, size = batch_context().size.expect_int(); b < size; ++b)
    out.insert(out.end(), lengths.begin(), lengths.end());
  return out;
}
Batched split_sequences(const Tensor& result, int64_t at) {
  return {result.unflatten(at, {batch_context().size, SymInt(-1)}), at};
}

}  // namespace

std::tuple<Batched, Batched> multilabel_margin_loss_forward(const Batched& self,
                                                            const Batched& target,
                                                            int64_t reduction) {
  const Tensor scores = label_rows(self), labels = label_rows(target);
  const auto [losses, is_target] =
      taeda::multilabel_margin_loss_forward(joined_rows(scores), joined_rows(labels), kEachRow);
  Tensor loss = losses.reshape({scores.sym_size(0), scores.sym_size(1)});
  if (reduction != kEachRow)
    loss = reduction == kMeanOfRows ? loss.mean(IntList({1})) : loss.sum(IntList({1}));
  else if (self.rank() <= 1)
    loss = loss.squeeze(1);
  SymIntVec sizes(target.front_expanded(batch_context().size).sym_sizes());
  return {Batched(loss, 0), Batched(is_target.reshape(sizes), 0)};
}

Batched multilabel_margin_loss_backward(const Batched& grad_output, const Batched& self,
                                        const Batched& target, int64_t reduction,
                                        const Batched& is_target) {
  const SymInt& size = batch_context().size;
  const Tensor scores = label_rows(self);
  Tensor grad = grad_output.front_expanded(size);
  if (grad.dim() == 1) grad = grad.unsqueeze(1);
  if (reduction == kMeanOfRows) grad = grad.div(Scalar(scores.sym_size(1)));
  grad = grad.expand({size, scores.sym_size(1)});
  const Tensor out = taeda::multilabel_margin_loss_backward(
      joined_rows(grad), joined_rows(scores), joined_rows(label_rows(target)), kEachRow,
      joined_rows(label_rows(is_target)));
  return {out.reshape(self.front_expanded(size).sym_sizes()), 0};
}

std::tuple<Batched, Batched> _ctc_loss(const Batched& log_probs, const Batched& targets,
                                       IntList input_lengths, IntList target_lengths, int64_t blank,
                                       bool zero_infinity) {
  const auto [losses, log_alpha] =
      taeda::_ctc_loss(joined_sequences(log_probs, 1), joined_targets(targets),
                       repeated(input_lengths), repeated(target_lengths), blank, zero_infinity);
  return {split_sequences(losses, 0), split_sequences(log_alpha, 0)};
}

Batched _ctc_loss_backward(const Batched& grad, const Batched& log_probs, const Batched& targets,
                           IntList input_lengths, IntList target_lengths,
                           const Batched& neg_log_likelihood, const Batched& log_alpha,
                           int64_t blank, bool zero_infinity) {
  return split_sequences(
      taeda::_ctc_loss_backward(joined_sequences(grad, 0), joined_sequences(log_probs, 1),
                                joined_targets(targets), repeated(input_lengths),
                                repeated(target_lengths), joined_sequences(neg_log_likelihood, 0),
                                joined_sequences(log_alpha, 0), blank, zero_infinity),
      1);
}

std::tuple<Batched, Batched> _ctc_loss_Tensor(const Batched& log_probs, const Batched& targets,
                                              const Batched& input_lengths,
                                              const Batched& target_lengths, int64_t blank,
                                              bool zero_infinity) {
  const auto [losses, log_alpha] = taeda::_ctc_loss(
      joined_sequences(log_probs, 1), joined_targets(targets), joined_sequences(input_lengths, 0),
      joined_sequences(target_lengths, 0), blank, zero_infinity);
  return {split_sequences(losses, 0), split_sequences(log_alpha, 0)};
}

Batched _ctc_loss_backward_Tensor(const Batched& grad, const Batched& log_probs,
                                  const Batched& targets, const Batched& input_lengths,
                                  const Batched& target_lengths, const Batched& neg_log_likelihood,
                                  const Batched& log_alpha, int64_t blank, bool zero_infinity) {
  return split_sequences(
      taeda::_ctc_loss_backward(joined_sequences(grad, 0), joined_sequences(log_probs, 1),
                                joined_targets(targets), joined_sequences(input_lengths, 0),
                                joined_sequences(target_lengths, 0),
                                joined_sequences(neg_log_likelihood, 0),
                                joined_sequences(log_alpha, 0), blank, zero_infinity),
      1);
}

}  // namespace taeda::batch
