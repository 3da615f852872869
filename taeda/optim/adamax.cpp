// Adamax.
#include "taeda/optim/adamax.h"

#include <cmath>

#include "taeda/ops/functions.h"
#include "taeda/optim/adam.h"

namespace taeda::optim {

void AdamaxOptions::check() const { check_adam(lr(), betas(), eps(), weight_decay()); }

void Adamax::update(Tensor& parameter, const Tensor& grad, const AdamaxOptions& options,
                    AdamaxParamState& state) {
  if (state.step()++ == 0) {
    state.exp_avg(taeda::zeros_like(parameter));
    state.exp_inf(taeda::zeros_like(parameter));
  }
  const auto [beta1, beta2] = options.betas();
  const double decay = options.weight_decay();
  const Tensor direction = decay != 0 ? grad.add(parameter, decay) : grad;
  state.exp_avg().lerp_(direction, 1 - beta1);
  state.exp_inf().mul_(beta2).clamp_min_(direction.abs().add_(options.eps()));
  const double correction = 1 - std::pow(beta1, static_cast<double>(state.step()));
  parameter.addcdiv_(state.exp_avg(), state.exp_inf(), -options.lr() / correction);
}

}  // namespace taeda::optim
