// Adadelta.
#include "taeda/optim/adadelta.h"

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void AdadeltaOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK_VALUE(rho() >= 0 && rho() <= 1, "Invalid rho value: ", rho());
  TAEDA_CHECK_VALUE(eps() >= 0, "Invalid epsilon value: ", eps());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "Invalid weight_decay value: ", weight_decay());
}

void Adadelta::update(Tensor& parameter, const Tensor& grad, const AdadeltaOptions& options,
                      AdadeltaParamState& state) {
  if (state.step()++ == 0) {
    state.square_avg(taeda::zeros_like(parameter));
    state.acc_delta(taeda::zeros_like(parameter));
  }
  const double decay = options.weight_decay(), rho = options.rho();
  const Tensor direction = decay != 0 ? grad.add(parameter, decay) : grad;
  state.square_avg().mul_(rho).addcmul_(direction, direction, 1 - rho);
  const Tensor deviation = state.square_avg().add(options.eps()).sqrt_();
  const Tensor delta = state.acc_delta().add(options.eps()).sqrt_().div_(deviation).mul_(direction);
  state.acc_delta().mul_(rho).addcmul_(delta, delta, 1 - rho);
  parameter.add_(delta, -options.lr());
}

}  // namespace taeda::optim
