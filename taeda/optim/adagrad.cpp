// Adagrad.
#include "taeda/optim/adagrad.h"

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

void AdagradOptions::check() const {
  TAEDA_CHECK_VALUE(lr() >= 0, "Invalid learning rate: ", lr());
  TAEDA_CHECK_VALUE(lr_decay() >= 0, "Invalid lr_decay value: ", lr_decay());
  TAEDA_CHECK_VALUE(weight_decay() >= 0, "Invalid weight_decay value: ", weight_decay());
  TAEDA_CHECK_VALUE(initial_accumulator_value() >= 0,
                    "Invalid initial_accumulator_value value: ", initial_accumulator_value());
  TAEDA_CHECK_VALUE(eps() >= 0, "Invalid epsilon value: ", eps());
}

Adagrad::Adagrad(std::vector<OptimizerParamGroup> groups, AdagradOptions defaults)
    : StepwiseOptimizer(std::move(groups), std::move(defaults)) {
  make_states();
}

Adagrad::Adagrad(std::vector<Tensor> params, AdagradOptions defaults)
    : StepwiseOptimizer(std::move(params), std::move(defaults)) {
  make_states();
}

void Adagrad::make_states() {
  const NoGradGuard no_grad;
  for (const OptimizerParamGroup& group : param_groups()) {
    const auto& options = static_cast<const AdagradOptions&>(group.options());
    for (const Tensor& parameter : group.params()) {
      made_state(parameter).sum(taeda::full_like(parameter, options.initial_accumulator_value()));
    }
  }
}

void Adagrad::update(Tensor& parameter, const Tensor& grad, const AdagradOptions& options,
                     AdagradParamState& state) {
  if (!state.sum().defined()) {  // of a group that came later
    state.sum(taeda::full_like(parameter, options.initial_accumulator_value()));
  }
  const auto before = static_cast<double>(state.step()++);
  const double decay = options.weight_decay();
  const Tensor direction = decay != 0 ? grad.add(parameter, decay) : grad;
  state.sum().addcmul_(direction, direction, 1);
  const Tensor deviation = state.sum().sqrt().add_(options.eps());
  parameter.addcdiv_(direction, deviation, -options.lr() / (1 + before * options.lr_decay()));
}

}  // namespace taeda::optim
