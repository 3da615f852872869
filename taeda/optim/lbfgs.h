// L-BFGS: quasi-Newton steps from the last few changes of parameters and gradients.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// `line_search_fn` is absent (steps of size `lr`) or "strong_wolfe"; `max_eval` is max_iter * 5 / 4
// unless set.
class TAEDA_API LBFGSOptions : public OptionsOf<LBFGSOptions> {
 public:
  LBFGSOptions(double lr = 1) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(int64_t, max_iter) = 20;
  TAEDA_ARG(std::optional<int64_t>, max_eval) = std::nullopt;
  TAEDA_ARG(double, tolerance_grad) = 1e-7;
  TAEDA_ARG(double, tolerance_change) = 1e-9;
  TAEDA_ARG(int64_t, history_size) = 100;
  TAEDA_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("max_iter", max_iter_);
    visit("max_eval", max_eval_);
    visit("tolerance_grad", tolerance_grad_);
    visit("tolerance_change", tolerance_change_);
    visit("history_size", history_size_);
    visit("line_search_fn", line_search_fn_);
  }
};

// What a step leaves for the next one: the direction and size of the last step, gradient and loss
// before it, and the history: changes of the gradient, steps, and one over their products.
class LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
  TAEDA_ARG(int64_t, func_evals) = 0;
  TAEDA_ARG(int64_t, n_iter) = 0;
  TAEDA_ARG(double, t) = 0;
  TAEDA_ARG(double, prev_loss) = 0;
  TAEDA_ARG(Tensor, d) = {};
  TAEDA_ARG(Tensor, H_diag) = {};
  TAEDA_ARG(Tensor, prev_flat_grad) = {};
  TAEDA_ARG(std::deque<Tensor>, old_dirs) = {};
  TAEDA_ARG(std::deque<Tensor>, old_stps) = {};
  TAEDA_ARG(std::deque<Tensor>, ro) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("func_evals", func_evals_);
    visit("n_iter", n_iter_);
    visit("t", t_);
    visit("prev_loss", prev_loss_);
    visit("d", d_);
    visit("H_diag", H_diag_);
    visit("prev_flat_grad", prev_flat_grad_);
    visit("old_dirs", old_dirs_);
    visit("old_stps", old_stps_);
    visit("ro", ro_);
  }
};

// One group; all parameters and gradients are one long vector, and the state is that of the first
// parameter. `step` needs a closure, which it calls several times.
class TAEDA_API LBFGS : public OptimizerWith<LBFGSOptions, LBFGSParamState> {
 public:
  explicit LBFGS(std::vector<OptimizerParamGroup> groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {});
  Tensor step(LossClosure closure) override;
};

}  // namespace taeda::optim
