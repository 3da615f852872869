// NAdam.
#include "taeda/optim/nadam.h"

#include <cmath>

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"
#include "taeda/optim/adam.h"

namespace taeda::optim {
namespace {

// Momentum grows towards beta1.
double momentum_at(double step, double beta1, double decay) {
  return beta1 * (1 - 0.5 * std::pow(0.96, step * decay));
}

}  // namespace

void NAdamOptions::check() const {
  check_adam(lr(), betas(), eps(), weight_decay());
  TAEDA_CHECK_VALUE(momentum_decay() >= 0, "Invalid momentum_decay value: ", momentum_decay());
}

void NAdam::update(Tensor& parameter, const Tensor& grad, const NAdamOptions& options,
                   NAdamParamState& state) {
  if (state.step() == 0) {
    state.mu_product(taeda::ones({}));
    state.exp_avg(taeda::zeros_like(parameter));
    state.exp_avg_sq(taeda::zeros_like(parameter));
  }
  const auto step = static_cast<double>(++state.step());
  const auto [beta1, beta2] = options.betas();
  const double lr = options.lr();
  const Tensor direction =
      with_decay(parameter, grad, lr, options.weight_decay(), options.decoupled_weight_decay());
  const double mu = momentum_at(step, beta1, options.momentum_decay());
  const double next = momentum_at(step + 1, beta1, options.momentum_decay());
  const double product = state.mu_product().mul_(mu).item<double>();
  state.exp_avg().lerp_(direction, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(direction, direction, 1 - beta2);
  const Tensor deviation =
      state.exp_avg_sq().div(1 - std::pow(beta2, step)).sqrt_().add_(options.eps());
  parameter.addcdiv_(direction, deviation, -lr * (1 - mu) / (1 - product));
  parameter.addcdiv_(state.exp_avg(), deviation, -lr * next / (1 - product * next));
}

}  // namespace taeda::optim
