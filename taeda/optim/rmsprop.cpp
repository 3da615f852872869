// RMSprop.
#include "taeda/optim/rmsprop.h"

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void RMSpropOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK_VALUE(eps() >= 0, "Invalid epsilon value: ", eps());
  TAEDA_CHECK_VALUE(momentum() >= 0, "Invalid momentum value: ", momentum());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "Invalid weight_decay value: ", weight_decay());
  TAEDA_CHECK_VALUE(alpha() >= 0, "Invalid alpha value: ", alpha());
}

void RMSprop::update(Tensor& parameter, const Tensor& grad, const RMSpropOptions& options,
                     RMSpropParamState& state) {
  if (state.step()++ == 0) {
    state.square_avg(taeda::zeros_like(parameter));
    if (options.momentum() > 0) state.momentum_buffer(taeda::zeros_like(parameter));
    if (options.centered()) state.grad_avg(taeda::zeros_like(parameter));
  }
  const double decay = options.weight_decay();
  const Tensor direction = decay != 0 ? grad.add(parameter, decay) : grad;
  Tensor& square = state.square_avg();
  square.mul_(options.alpha()).addcmul_(direction, direction, 1 - options.alpha());
  Tensor deviation = square;
  if (options.centered()) {
    state.grad_avg().lerp_(direction, 1 - options.alpha());
    deviation = square.addcmul(state.grad_avg(), state.grad_avg(), -1);
  }
  deviation = deviation.sqrt().add_(options.eps());
  if (options.momentum() > 0) {
    Tensor& buffer = state.momentum_buffer();
    buffer.mul_(options.momentum()).addcdiv_(direction, deviation);
    parameter.add_(buffer, -options.lr());
  } else {
    parameter.addcdiv_(direction, deviation, -options.lr());
  }
}

}  // namespace taeda::optim
