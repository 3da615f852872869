// Stochastic gradient descent with momentum.
#include "taeda/optim/sgd.h"

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void SGDOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK_VALUE(momentum() >= 0, "Invalid momentum value: ", momentum());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "Invalid weight_decay value: ", weight_decay());
  TAEDA_CHECK_VALUE(!nesterov() || (momentum() > 0 && dampening() == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
}

void SGD::update(Tensor& parameter, const Tensor& grad, const SGDOptions& options,
                 SGDParamState& state) {
  Tensor direction =
      options.weight_decay() != 0 ? grad.add(parameter, options.weight_decay()) : grad;
  if (options.momentum() != 0) {
    Tensor& buffer = state.momentum_buffer();
    if (!buffer.defined()) {
      buffer = direction.detach().clone();
    } else {
      buffer.mul_(options.momentum()).add_(direction, 1 - options.dampening());
    }
    direction = options.nesterov() ? direction.add(buffer, options.momentum()) : buffer;
  }
  parameter.add_(direction, -options.lr());
}

}  // namespace taeda::optim
