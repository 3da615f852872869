// What schedules of the learning rate share.
#include "taeda/optim/schedulers/lr_scheduler.h"

#include "taeda/base/error.h"
#include "taeda/optim/optimizer_inl.h"

namespace taeda::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  for (OptimizerParamGroup& group : optimizer.param_groups()) {
    if (!group.initial_lr()) group.set_initial_lr(group.options().get_lr());
    base_lrs_.push_back(*group.initial_lr());
  }
}

void LRScheduler::step() {
  set_lrs(get_lrs());
  ++step_count_;
}

void LRScheduler::begin() {
  step_count_ = 0;
  step();
}

void LRScheduler::restart() {
  set_lrs(base_lrs_);
  begin();
}

void LRScheduler::set_lrs(const std::vector<double>& rates) {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  TAEDA_CHECK(rates.size() == groups.size(),
              "Number of learning rates not equal to the number of "
              "param groups\nNumber of learning rates given: ",
              rates.size(), "\nNumber of param groups: ", groups.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates[i]);
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) {
    rates.push_back(group.options().get_lr());
  }
  return rates;
}

std::vector<double> LRScheduler::scaled(double factor) const {
  std::vector<double> rates = get_current_lrs();
  for (double& rate : rates) rate *= factor;
  return rates;
}

std::vector<double> LRScheduler::of_base(double factor) const {
  std::vector<double> rates = base_lrs_;
  for (double& rate : rates) rate *= factor;
  return rates;
}

void LRScheduler::save(serialization::OutputArchive& archive) const {
  FieldWriter write(archive);
  write("step_count", static_cast<int64_t>(step_count_));
  write("base_lrs", base_lrs_);
}

void LRScheduler::load(serialization::InputArchive& archive) {
  FieldReader read(archive);
  int64_t count = 0;
  std::vector<double> rates;
  read("step_count", count);
  read("base_lrs", rates);
  TAEDA_CHECK(rates.size() == optimizer_.param_groups().size(), "loaded schedule has ",
              rates.size(), " groups, expected ", optimizer_.param_groups().size());
  step_count_ = static_cast<unsigned>(count);
  base_lrs_ = std::move(rates);
}

std::vector<double> PerGroup::for_groups(const char* name, const Optimizer& optimizer) const {
  const size_t groups = optimizer.param_groups().size();
  if (values_.size() == 1) return std::vector<double>(groups, values_[0]);
  TAEDA_CHECK_VALUE(values_.size() == groups, name,
                    " must have the same length as optimizer.param_groups. ", name, " has ",
                    values_.size(), " values, param_groups has ", groups, ".");
  return values_;
}

}  // namespace taeda::optim
