// Schedules of the learning rate.
#include "taeda/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/base/str.h"

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

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode,
                                                       float factor, int patience, double threshold,
                                                       ThresholdMode threshold_mode, int cooldown,
                                                       const std::vector<float>& min_lr, double eps,
                                                       bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr.begin(), min_lr.end()),
      eps_(eps),
      is_verbose_(verbose),
      best_(mode == min ? std::numeric_limits<double>::infinity()
                        : -std::numeric_limits<double>::infinity()) {
  TAEDA_CHECK(factor < 1, "Factor should be < 1.0.");
  const size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) min_lrs_.assign(groups, 0);
  TAEDA_CHECK(
      min_lrs_.size() == groups,
      "Number of learning rates not equal to the number of param groups\nNumber of learning "
      "rates given: ",
      min_lrs_.size(), "\nNumber of param groups: ", groups);
}

bool ReduceLROnPlateauScheduler::is_better(double metric) const {
  if (std::isinf(best_)) return mode_ == min ? metric < best_ : metric > best_;
  const double gap = threshold_mode_ == rel ? best_ * threshold_ : threshold_;
  return mode_ == min ? metric < best_ - gap : metric > best_ + gap;
}

void ReduceLROnPlateauScheduler::step(double metric) {
  ++steps_;
  if (is_better(metric)) {
    best_ = metric;
    bad_steps_ = 0;
  } else {
    ++bad_steps_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_steps_ = 0;
  }
  if (bad_steps_ > patience_) {
    reduce_rates();
    cooldown_left_ = cooldown_;
    bad_steps_ = 0;
  }
}

void ReduceLROnPlateauScheduler::reduce_rates() {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const double rate = groups[i].options().get_lr();
    const double reduced = std::max(rate * factor_, min_lrs_[i]);
    if (rate - reduced <= eps_) continue;
    groups[i].options().set_lr(reduced);
    if (is_verbose_) {
      warn(str("Epoch ", steps_, ": reducing learning rate of group ", i, " to ", reduced));
    }
  }
}

}  // namespace taeda::optim
