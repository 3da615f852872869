// Rprop.
#include "taeda/optim/rprop.h"

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void RpropOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  const auto [shrink, grow] = etas();
  TAEDA_CHECK_VALUE(shrink > 0 && shrink < 1 && grow > 1, "Invalid eta values: ", shrink, ", ",
                    grow);
}

void Rprop::update(Tensor& parameter, const Tensor& grad, const RpropOptions& options,
                   RpropParamState& state) {
  if (state.step()++ == 0) {
    state.prev(taeda::zeros_like(parameter));
    state.step_size(taeda::full_like(grad, options.lr()));
  }
  const auto [shrink, grow] = options.etas();
  const auto [least, most] = options.step_sizes();
  const Tensor agreement = grad.mul(state.prev()).sign_();
  const Tensor turned = agreement.lt(0);
  Tensor factor = taeda::ones_like(agreement);
  factor.masked_fill_(agreement.gt(0), grow).masked_fill_(turned, shrink);
  state.step_size().mul_(factor).clamp_(least, most);
  // Where the sign changed the minimum lies behind: no step, and none compared with next.
  const Tensor direction = grad.masked_fill(turned, 0);
  parameter.addcmul_(direction.sign(), state.step_size(), -1);
  state.prev().copy_(direction);
}

}  // namespace taeda::optim
