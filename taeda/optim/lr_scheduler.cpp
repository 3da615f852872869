// Schedules of the learning rate.
#include "taeda/optim/lr_scheduler.h"

#include "taeda/base/error.h"

namespace taeda::optim {

void LRScheduler::step() {
  ++step_count_;
  const std::vector<double> rates = get_lrs();
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

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  TAEDA_CHECK_VALUE(step_size > 0, "step_size must be positive");
}

std::vector<double> StepLR::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  if (step_count_ % step_size_ == 0) {
    for (double& rate : rates) rate *= gamma_;
  }
  return rates;
}

}  // namespace taeda::optim
