// Shape rules of the connectionist temporal classification loss, and its forms for users.
#include <algorithm>
#include <limits>

#include "taeda/ops/counted.h"
#include "taeda/ops/factory/tensor_data.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/declarations.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/operators.h"
#include "taeda/ops/loss/reduction.h"
#include "taeda/ops/scalar_type.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

constexpr char kCtcChecked[] = " (while checking arguments for ctc_loss_allocate_outputs)";

void check_ctc_types(const Tensor& log_probs, const Tensor& targets) {
  TAEDA_CHECK_NOT_IMPLEMENTED(
      log_probs.dtype() == DType::Float || log_probs.dtype() == DType::Double,
      "\"ctc_loss_cpu\" not implemented for '", log_probs.dtype(), "'");
  TAEDA_CHECK(targets.dtype() == DType::Int64 || targets.dtype() == DType::Int32,
              "Expected tensor for argument #2 'targets' to have scalar type Int; but got ",
              targets.dtype(), kCtcChecked);
}

void check_ctc_dims(const Tensor& log_probs, const Tensor& targets, int64_t blank) {
  TAEDA_CHECK(log_probs.sym_numel() > SymInt(0), "log_probs tensor must not be empty");
  TAEDA_CHECK(log_probs.dim() == 3, "Expected 3-dimensional tensor, but got ", log_probs.dim(),
              "-dimensional tensor for argument #1 'log_probs'", kCtcChecked);
  TAEDA_CHECK(targets.dim() == 1 || targets.dim() == 2, "Expected 1 to 2 dimensions, but got ",
              targets.dim(), "-dimensional tensor for argument #2 'targets'", kCtcChecked);
  TAEDA_CHECK(blank >= 0 && SymInt(blank) < log_probs.sym_size(2), "blank must be in label range");
}

void check_ctc_targets(const Tensor& targets, IntList lengths, int64_t most) {
  int64_t total = 0;
  for (int64_t n : lengths)
    TAEDA_CHECK(!__builtin_add_overflow(total, n, &total),
                "ctc_loss: target_lengths are too long: ", lengths);
  const auto batch = static_cast<int64_t>(lengths.size());
  const int64_t expected = targets.dim() == 1 ? total : batch;
  TAEDA_CHECK(targets.sym_size(0) == SymInt(expected), "Expected tensor to have size ", expected,
              " at dimension 0, but got size ", targets.sym_size(0), " for argument #2 'targets'",
              kCtcChecked);
  TAEDA_CHECK(targets.dim() == 1 || targets.sym_size(1) >= SymInt(most),
              "Expected tensor to have size at least ", most, " at dimension 1, but got size ",
              targets.sym_size(1), " for argument #2 'targets'", kCtcChecked);
}

void check_ctc_lengths(const Tensor& log_probs, IntList input_lengths, IntList target_lengths) {
  const SymInt batch = log_probs.sym_size(1), steps = log_probs.sym_size(0);
  TAEDA_CHECK(SymInt(static_cast<int64_t>(input_lengths.size())) == batch,
              "input_lengths must be of size batch_size");
  TAEDA_CHECK(SymInt(static_cast<int64_t>(target_lengths.size())) == batch,
              "target_lengths must be of size batch_size");
  for (int64_t n : target_lengths)
    TAEDA_CHECK(n >= 0, "Expected target_lengths to have value at least 0, but got value ", n,
                kCtcChecked);
  for (int64_t n : input_lengths) {
    TAEDA_CHECK(n >= 0, "Expected input_lengths to have value at least 0, but got value ", n,
                kCtcChecked);
    TAEDA_CHECK(SymInt(n) <= steps, "Expected input_lengths to have value at most ", steps,
                ", but got value ", n, kCtcChecked);
  }
}

// The longest target of a batch whose arguments fit together.
int64_t longest_target(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                       IntList target_lengths, int64_t blank) {
  check_ctc_types(log_probs, targets);
  check_ctc_dims(log_probs, targets, blank);
  check_ctc_lengths(log_probs, input_lengths, target_lengths);
  int64_t most = 0;
  for (int64_t n : target_lengths) most = std::max(most, n);
  check_ctc_targets(targets, target_lengths, most);
  return most;
}

void check_integral(const Tensor& lengths, const char* name) {
  TAEDA_CHECK(is_integral(lengths.dtype()), name, " must be integral");
}

// The numbers of a tensor of lengths.
std::vector<int64_t> lengths_in(const Tensor& lengths, const char* name) {
  check_integral(lengths, name);
  std::vector<int64_t> out;
  const Tensor flat = lengths.reshape({SymInt(-1)});
  for (int64_t i = 0, n = flat.sym_size(0).expect_int(); i < n; ++i)
    out.push_back(flat.select(0, SymInt(i)).item().to_int());
  return out;
}

}  // namespace

std::array<OutSpec, 2> _ctc_loss_spec(const Tensor& log_probs, const Tensor& targets,
                                      IntList input_lengths, IntList target_lengths, int64_t blank,
                                      bool) {
  const int64_t most = longest_target(log_probs, targets, input_lengths, target_lengths, blank);
  const SymInt steps = log_probs.sym_size(0), batch = log_probs.sym_size(1);
  return {OutSpec(SymIntList({batch}), log_probs.dtype(), log_probs.device()),
          OutSpec(SymIntList({batch, steps, SymInt(2 * most + 1)}), log_probs.dtype(),
                  log_probs.device())};
}

OutSpec _ctc_loss_backward_spec(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                IntList input_lengths, IntList target_lengths,
                                const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                                int64_t blank, bool) {
  const int64_t most = longest_target(log_probs, targets, input_lengths, target_lengths, blank);
  for (const Tensor* t : {&grad, &neg_log_likelihood, &log_alpha})
    check_scalar_type(log_probs.dtype(), *t);
  const SymInt steps = log_probs.sym_size(0), batch = log_probs.sym_size(1);
  TAEDA_CHECK(neg_log_likelihood.dim() == 1 && neg_log_likelihood.sym_size(0) == batch,
              "_ctc_loss_backward: got losses of ", neg_log_likelihood.sym_sizes(),
              " for scores of ", log_probs.sym_sizes());
  TAEDA_CHECK(grad.dim() == 1 && grad.sym_size(0) == batch && log_alpha.dim() == 3 &&
                  log_alpha.sym_size(0) == batch && log_alpha.sym_size(1) == steps &&
                  log_alpha.sym_size(2) >= SymInt(2 * most + 1),
              "_ctc_loss_backward: got gradients of ", grad.sym_sizes(), " and variables of ",
              log_alpha.sym_sizes(), " for scores of ", log_probs.sym_sizes());
  return OutSpec(log_probs.sym_sizes(), log_probs.dtype(), log_probs.device());
}

std::tuple<Tensor, Tensor> _ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets,
                                            const Tensor& input_lengths,
                                            const Tensor& target_lengths, int64_t blank,
                                            bool zero_infinity) {
  return taeda::_ctc_loss(log_probs, targets, lengths_in(input_lengths, "input_lengths"),
                          lengths_in(target_lengths, "target_lengths"), blank, zero_infinity);
}

OutSpec _ctc_loss_backward_Tensor_spec(const Tensor&, const Tensor& log_probs, const Tensor&,
                                       const Tensor& input_lengths, const Tensor& target_lengths,
                                       const Tensor&, const Tensor&, int64_t, bool) {
  check_integral(input_lengths, "input_lengths");
  check_integral(target_lengths, "target_lengths");
  return OutSpec(log_probs.sym_sizes(), log_probs.dtype(), log_probs.device());
}

namespace {

// `divisors`: of the losses that a mean is made of.
template <class Lengths, class Divisors>
Tensor reduced_ctc_loss(const Tensor& log_probs, const Tensor& targets,
                        const Lengths& input_lengths, const Lengths& target_lengths, int64_t blank,
                        int64_t reduction, bool zero_infinity, Divisors&& divisors) {
  const bool has_batch = log_probs.dim() == 3;
  const Tensor scores = has_batch ? log_probs : log_probs.unsqueeze(1);
  Tensor loss = std::get<0>(taeda::_ctc_loss(scores, targets.to(DType::Int64), input_lengths,
                                             target_lengths, blank, zero_infinity));
  if (zero_infinity) {
    const Scalar infinity(std::numeric_limits<double>::infinity());
    loss = taeda::where(loss.eq(infinity), Scalar(0), loss);
  }
  if (reduction == kMean) return loss.div(divisors().to(loss.device(), loss.dtype())).mean();
  if (reduction == kSum) return loss.sum();
  return has_batch ? loss : loss.squeeze(0);
}

}  // namespace

Tensor ctc_loss_IntList(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
                        IntList target_lengths, int64_t blank, int64_t reduction,
                        bool zero_infinity) {
  return reduced_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction,
                          zero_infinity, [&] {
                            std::vector<int64_t> lengths;
                            for (int64_t n : target_lengths)
                              lengths.push_back(std::max<int64_t>(n, 1));
                            return taeda::tensor(lengths);
                          });
}

Tensor ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction,
                       bool zero_infinity) {
  return reduced_ctc_loss(
      log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity,
      [&] { return target_lengths.reshape({SymInt(-1)}).clamp_min(Scalar(1)); });
}

}  // namespace taeda::impl

namespace taeda {

using LossesAndStates = std::tuple<Tensor, Tensor>;

TAEDA_COUNTED(_ctc_loss_Tensor, LossesAndStates,
              (const Tensor& log_probs, const Tensor& targets, [[maybe_unused]] const Tensor& steps,
               [[maybe_unused]] const Tensor& target_lengths, int64_t blank,
               [[maybe_unused]] bool zero_infinity)) {
  impl::check_ctc_types(log_probs, targets);
  impl::check_ctc_dims(log_probs, targets, blank);
  const SymInt longest = new_count({.most = targets.sym_size(-1)});
  const SymInt batch = log_probs.sym_size(1);
  const Device place(DeviceType::Meta);
  const OutSpec losses(SymIntList({batch}), log_probs.dtype(), place);
  const OutSpec states(SymIntList({batch, log_probs.sym_size(0), longest * 2 + 1}),
                       log_probs.dtype(), place);
  return {losses.allocate(), states.allocate()};
}

}  // namespace taeda
