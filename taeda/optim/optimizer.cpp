// What optimizers share.
#include "taeda/optim/optimizer.h"

#include <unordered_set>

#include "taeda/base/error.h"
#include "taeda/nn/module.h"

namespace taeda::optim {
namespace {

std::vector<OptimizerParamGroup> one_group(std::vector<Tensor> parameters) {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::move(parameters));
  return groups;
}

}  // namespace

double OptimizerOptions::get_lr() const {
  fail(ErrorKind::Runtime,
       "double get_lr() has not been overidden and implemented in subclass of OptimizerOptions, "
       "you must override it in your subclass.");
}

void OptimizerOptions::set_lr(double) {
  fail(ErrorKind::Runtime,
       "double set_lr() has not been overidden and implemented in subclass of OptimizerOptions, "
       "you must override it in your subclass.");
}

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups,
                     std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  defaults_->check();
  for (OptimizerParamGroup& group : groups) add_param_group(std::move(group));
}

Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(one_group(std::move(parameters)), std::move(defaults)) {}

void Optimizer::add_param_group(OptimizerParamGroup group) {
  std::unordered_set<const TensorImpl*> known;
  for (const Tensor& parameter : parameters()) known.insert(parameter.impl());
  for (const Tensor& parameter : group.params()) {
    TAEDA_CHECK(parameter.defined(), "an optimizer cannot take an undefined tensor");
    TAEDA_CHECK_VALUE(parameter.is_leaf(), "can't optimize a non-leaf Tensor");
    TAEDA_CHECK_VALUE(known.insert(parameter.impl()).second,
                      "some parameters appear in more than one parameter group");
  }
  if (group.has_options()) {
    group.options().inherit(*defaults_);
  } else {
    group.set_options(defaults_->clone());
  }
  group.options().check();
  groups_.push_back(std::move(group));
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  TAEDA_CHECK(!groups_.empty(), "an optimizer without groups has none to add parameters to");
  std::vector<Tensor>& held = groups_[0].params();
  held.insert(held.end(), parameters.begin(), parameters.end());
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const OptimizerParamGroup& group : groups_) {
    out.insert(out.end(), group.params().begin(), group.params().end());
  }
  return out;
}

void Optimizer::zero_grad(bool set_to_none) { nn::clear_gradients(parameters(), set_to_none); }

size_t Optimizer::size() const noexcept {
  size_t count = 0;
  for (const OptimizerParamGroup& group : groups_) count += group.params().size();
  return count;
}

void Optimizer::save(serialization::OutputArchive&) const {
  fail(ErrorKind::NotImplemented, "this optimizer has no save()");
}

void Optimizer::load(serialization::InputArchive&) {
  fail(ErrorKind::NotImplemented, "this optimizer has no load()");
}

}  // namespace taeda::optim
