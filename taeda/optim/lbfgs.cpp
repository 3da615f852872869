// L-BFGS.
#include "taeda/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "taeda/autograd/guards.h"
#include "taeda/base/error.h"
#include "taeda/ops/functions.h"
#include "taeda/optim/line_search.h"

namespace taeda::optim {
namespace {

Tensor real_parts(const Tensor& tensor) {
  return tensor.is_complex() ? taeda::view_as_real(tensor.resolve_conj()) : tensor;
}

double largest(const Tensor& tensor) { return tensor.abs().max().item<double>(); }

// The iterations of one call of `step`.
class Search {
 public:
  Search(std::vector<Tensor>& parameters, const LBFGSOptions& options, LBFGSParamState& state,
         const Optimizer::LossClosure& closure)
      : parameters_(parameters),
        options_(options),
        state_(state),
        closure_(closure),
        max_eval_(options.max_eval().value_or(options.max_iter() * 5 / 4)) {}

  double evaluate() {
    const AutoGradMode with_grad(true);
    ++state_.func_evals();
    ++evaluations_;
    return closure_().item<double>();
  }

  Tensor flat_grad() const {
    std::vector<Tensor> pieces;
    for (const Tensor& parameter : parameters_) {
      const Tensor grad = parameter.grad();
      const Tensor piece = grad.defined() ? grad : taeda::zeros_like(parameter);
      pieces.push_back(real_parts(piece).reshape({-1}));
    }
    return taeda::cat(pieces);
  }

  void run(double loss, Tensor grad) {
    for (int64_t i = 1; i <= options_.max_iter(); ++i) {
      ++state_.n_iter();
      choose_direction(grad);
      state_.prev_flat_grad(grad.clone());
      state_.prev_loss(loss);
      state_.t(first_size(grad));
      const double slope = grad.dot(state_.d()).item<double>();
      if (slope > -options_.tolerance_change()) break;
      const bool is_last = i == options_.max_iter();
      move(loss, grad, slope, is_last);
      if (is_last || largest(grad) <= options_.tolerance_grad()) break;
      if (evaluations_ >= max_eval_) break;
      if (largest(state_.d().mul(state_.t())) <= options_.tolerance_change()) break;
      if (std::abs(loss - state_.prev_loss()) < options_.tolerance_change()) break;
    }
  }

 private:
  double first_size(const Tensor& grad) const {
    if (state_.n_iter() != 1) return options_.lr();
    return std::min(1.0, 1.0 / grad.abs().sum().item<double>()) * options_.lr();
  }

  void choose_direction(const Tensor& grad) {
    if (state_.n_iter() == 1) {
      state_.d(grad.neg());
      state_.H_diag(taeda::ones_like(grad.narrow(0, 0, 1)).squeeze(0));
      return;
    }
    learn(grad.sub(state_.prev_flat_grad()), state_.d().mul(state_.t()));
    // The inverse of the Hessian times the gradient, in two loops over the kept changes.
    const auto &changes = state_.old_dirs(), &steps = state_.old_stps(), &ro = state_.ro();
    std::vector<Tensor> factors(changes.size());
    Tensor q = grad.neg();
    for (size_t i = changes.size(); i-- > 0;) {
      factors[i] = steps[i].dot(q) * ro[i];
      q.sub_(changes[i] * factors[i]);
    }
    Tensor d = q.mul(state_.H_diag());
    for (size_t i = 0; i < changes.size(); ++i) {
      d.add_(steps[i] * (factors[i] - changes[i].dot(d) * ro[i]));
    }
    state_.d(d);
  }

  // Takes a change of the gradient and its step into the history, if it curves up.
  void learn(const Tensor& change, const Tensor& step) {
    const Tensor curvature = change.dot(step);
    if (!(curvature.item<double>() > 1e-10)) return;
    const auto keep = [&](std::deque<Tensor>& kept, const Tensor& item) {
      if (static_cast<int64_t>(kept.size()) == options_.history_size()) kept.pop_front();
      kept.push_back(item);
    };
    keep(state_.old_dirs(), change);
    keep(state_.old_stps(), step);
    keep(state_.ro(), curvature.reciprocal());
    state_.H_diag(curvature / change.dot(change));
  }

  // Moves along the direction; loss and gradient become those there.
  void move(double& loss, Tensor& grad, double slope, bool is_last) {
    if (options_.line_search_fn()) {
      std::vector<Tensor> start;
      for (const Tensor& parameter : parameters_) start.push_back(parameter.clone());
      const auto at = [&](double t) {
        advance(t);
        const double value = evaluate();
        const Tensor there = flat_grad();
        for (size_t i = 0; i < start.size(); ++i) parameters_[i].copy_(start[i]);
        return std::pair(value, there);
      };
      const LinePoint here{0, loss, grad.clone(), slope};
      const LinePoint best =
          strong_wolfe(at, here, state_.d(), state_.t(), max_eval_ - evaluations_).best;
      loss = best.loss;
      grad = best.grad;
      state_.t(best.t);
      advance(best.t);
      return;
    }
    advance(state_.t());
    if (is_last) return;
    loss = evaluate();
    grad = flat_grad();
  }

  void advance(double t) {
    int64_t from = 0;
    for (const Tensor& parameter : parameters_) {
      Tensor part = real_parts(parameter);
      part.add_(state_.d().narrow(0, from, part.numel()).view_as(part), t);
      from += part.numel();
    }
  }

  std::vector<Tensor>& parameters_;
  const LBFGSOptions& options_;
  LBFGSParamState& state_;
  const Optimizer::LossClosure& closure_;
  int64_t max_eval_, evaluations_ = 0;
};

void check_groups(size_t count) {
  TAEDA_CHECK_VALUE(count == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
}

}  // namespace

void LBFGSOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK(!line_search_fn() || *line_search_fn() == "strong_wolfe",
              "only 'strong_wolfe' is supported");
}

LBFGS::LBFGS(std::vector<OptimizerParamGroup> groups, LBFGSOptions defaults)
    : OptimizerWith(std::move(groups), std::move(defaults)) {
  check_groups(param_groups().size());
}

LBFGS::LBFGS(std::vector<Tensor> params, LBFGSOptions defaults)
    : OptimizerWith(std::move(params), std::move(defaults)) {}

Tensor LBFGS::step(LossClosure closure) {
  const NoGradGuard no_grad;
  TAEDA_CHECK(closure != nullptr, "LBFGS requires a closure function");
  check_groups(param_groups().size());
  OptimizerParamGroup& group = param_groups()[0];
  Tensor first_loss;
  const LossClosure kept = [&] {
    Tensor loss = closure();
    if (!first_loss.defined()) first_loss = loss;
    return loss;
  };
  const auto& options = static_cast<const LBFGSOptions&>(group.options());
  Search search(group.params(), options, made_state(group.params().at(0)), kept);
  const double loss = search.evaluate();
  const Tensor grad = search.flat_grad();
  if (largest(grad) > options.tolerance_grad()) search.run(loss, grad);
  return first_loss;
}

}  // namespace taeda::optim
