// ASGD.
#include "taeda/optim/asgd.h"

#include <algorithm>
#include <cmath>

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void ASGDOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "Invalid weight_decay value: ", weight_decay());
}

void ASGD::update(Tensor& parameter, const Tensor& grad, const ASGDOptions& options,
                  ASGDParamState& state) {
  if (state.step() == 0) {
    state.eta(taeda::full({}, options.lr()));
    state.mu(taeda::ones({}));
    state.ax(taeda::zeros_like(parameter));
  }
  const auto step = static_cast<double>(++state.step());
  const double decay = options.weight_decay(), lambd = options.lambd();
  const Tensor direction = decay != 0 ? grad.add(parameter, decay) : grad;
  const double size = state.eta().item<double>(), weight = state.mu().item<double>();
  parameter.mul_(1 - lambd * size).add_(direction, -size);
  if (weight == 1) {
    state.ax().copy_(parameter);
  } else {
    state.ax().add_(parameter.sub(state.ax()).mul_(weight));
  }
  state.eta().fill_(options.lr() / std::pow(1 + lambd * options.lr() * step, options.alpha()));
  state.mu().fill_(1 / std::max(1.0, step - options.t0()));
}

}  // namespace taeda::optim
