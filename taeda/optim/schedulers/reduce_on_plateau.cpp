// Rates that fall on a plateau.
#include "taeda/optim/schedulers/reduce_on_plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/base/str.h"

namespace taeda::optim {

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
