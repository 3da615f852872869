// Adam and AdamW.
#include "taeda/optim/adam.h"

#include <cmath>

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {
namespace {

// The step that both take once weights have decayed.
template <class Options>
void move(Tensor& parameter, const Tensor& grad, const Options& options, AdamParamState& state) {
  if (state.step() == 0) {
    state.exp_avg(taeda::zeros_like(parameter));
    state.exp_avg_sq(taeda::zeros_like(parameter));
    if (options.amsgrad()) state.max_exp_avg_sq(taeda::zeros_like(parameter));
  }
  const auto step = static_cast<double>(++state.step());
  const auto [beta1, beta2] = options.betas();
  const double correction1 = 1 - std::pow(beta1, step);
  const double correction2 = std::sqrt(1 - std::pow(beta2, step));
  state.exp_avg().lerp_(grad, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  Tensor second = state.exp_avg_sq();
  if (options.amsgrad()) {
    taeda::maximum_out(state.max_exp_avg_sq(), state.max_exp_avg_sq(), second);
    second = state.max_exp_avg_sq();
  }
  const Tensor deviation = second.sqrt().div_(correction2).add_(options.eps());
  parameter.addcdiv_(state.exp_avg(), deviation, -options.lr() / correction1);
}

}  // namespace

void check_adam(double lr, std::tuple<double, double> betas, double eps, double weight_decay) {
  const auto [beta1, beta2] = betas;
  TAEDA_CHECK_VALUE(lr >= 0, "Invalid learning rate: ", lr);
  TAEDA_CHECK_VALUE(eps >= 0, "Invalid epsilon value: ", eps);
  TAEDA_CHECK_VALUE(beta1 >= 0 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TAEDA_CHECK_VALUE(beta2 >= 0 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
  TAEDA_CHECK_VALUE(weight_decay >= 0, "Invalid weight_decay value: ", weight_decay);
}

Tensor with_decay(Tensor& parameter, const Tensor& grad, double lr, double weight_decay,
                  bool is_decoupled) {
  if (weight_decay == 0) return grad;
  if (!is_decoupled) return grad.add(parameter, weight_decay);
  parameter.mul_(1 - lr * weight_decay);
  return grad;
}

void Adam::update(Tensor& parameter, const Tensor& grad, const AdamOptions& options,
                  AdamParamState& state) {
  move(parameter, with_decay(parameter, grad, options.lr(), options.weight_decay(), false), options,
       state);
}

void AdamW::update(Tensor& parameter, const Tensor& grad, const AdamWOptions& options,
                   AdamParamState& state) {
  move(parameter, with_decay(parameter, grad, options.lr(), options.weight_decay(), true), options,
       state);
}

}  // namespace taeda::optim
