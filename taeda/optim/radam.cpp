// RAdam.
#include "taeda/optim/radam.h"

#include <cmath>

#include "taeda/ops/functions.h"
#include "taeda/optim/adam.h"

namespace taeda::optim {

void RAdamOptions::check() const { check_adam(lr(), betas(), eps(), weight_decay()); }

void RAdam::update(Tensor& parameter, const Tensor& grad, const RAdamOptions& options,
                   RAdamParamState& state) {
  if (state.step() == 0) {
    state.exp_avg(taeda::zeros_like(parameter));
    state.exp_avg_sq(taeda::zeros_like(parameter));
  }
  const auto step = static_cast<double>(++state.step());
  const auto [beta1, beta2] = options.betas();
  const Tensor direction = with_decay(parameter, grad, options.lr(), options.weight_decay(),
                                      options.decoupled_weight_decay());
  state.exp_avg().lerp_(direction, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(direction, direction, 1 - beta2);
  const double power = std::pow(beta2, step), correction2 = 1 - power;
  // The length of the mean of squares, as of a simple moving average, now and in the limit.
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * step * power / correction2;
  Tensor change = state.exp_avg().div(1 - std::pow(beta1, step)).mul_(options.lr());
  if (length > 5) {
    const double rectified =
        std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    const Tensor inverse = state.exp_avg_sq().sqrt().add_(options.eps()).reciprocal_();
    change.mul_(inverse.mul_(std::sqrt(correction2)).mul_(rectified));
  }
  parameter.sub_(change);
}

}  // namespace taeda::optim
