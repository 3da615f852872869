// What optimizers share.
#include "taeda/optim/optimizer.h"

#include <unordered_set>

#include "taeda/autograd/guards.h"
#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda::optim {

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups,
                     std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  defaults_->check();
  for (OptimizerParamGroup& group : groups) add_param_group(std::move(group));
}

void Optimizer::add_param_group(OptimizerParamGroup group) {
  std::unordered_set<const TensorImpl*> known;
  for (const OptimizerParamGroup& other : groups_) {
    for (const Tensor& parameter : other.params()) known.insert(parameter.impl());
  }
  for (const Tensor& parameter : group.params()) {
    TAEDA_CHECK(parameter.defined(), "an optimizer cannot take an undefined tensor");
    TAEDA_CHECK_VALUE(parameter.is_leaf(), "can't optimize a non-leaf Tensor");
    TAEDA_CHECK_VALUE(known.insert(parameter.impl()).second,
                      "some parameters appear in more than one parameter group");
  }
  if (!group.has_options()) group.set_options(defaults_->clone());
  group.options().check();
  groups_.push_back(std::move(group));
}

Tensor Optimizer::step(LossClosure closure) {
  Tensor loss;
  if (closure) {
    const AutoGradMode with_grad(true);
    loss = closure();
  }
  const NoGradGuard no_grad;
  for (OptimizerParamGroup& group : groups_) {
    for (Tensor& parameter : group.params()) {
      const Tensor grad = parameter.grad();
      if (grad.defined()) update(parameter, grad, group.options());
    }
  }
  return loss;
}

void Optimizer::zero_grad(bool set_to_none) {
  for (OptimizerParamGroup& group : groups_) {
    for (Tensor& parameter : group.params()) {
      Tensor& grad = parameter.mutable_grad();
      if (!grad.defined()) continue;
      if (set_to_none) {
        grad.reset();
      } else {
        grad = grad.detach();
        grad.zero_();
      }
    }
  }
}

size_t Optimizer::size() const noexcept {
  size_t count = 0;
  for (const OptimizerParamGroup& group : groups_) count += group.params().size();
  return count;
}

}  // namespace taeda::optim
