// Schedules that go up and down between two rates.
#include "taeda/optim/schedulers/cycle.h"

#include <cmath>
#include <numbers>

#include "taeda/base/error.h"

namespace taeda::optim {
namespace {

void check_momentum(const Optimizer& optimizer) {
  TAEDA_CHECK_VALUE(
      optimizer.defaults().get_momentum().has_value(),
      "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
}

// A schedule with rates of its own starts at them.
Optimizer& started(Optimizer& optimizer, const std::vector<double>& rates) {
  std::vector<OptimizerParamGroup>& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates[i]);
  return optimizer;
}

// The rates that one cycle starts at are the base rates from then on.
Optimizer& started(Optimizer& optimizer, const OneCycleLROptions& options) {
  std::vector<double> rates = options.max_lr().for_groups("max_lr", optimizer);
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i] /= options.div_factor();
    optimizer.param_groups()[i].set_initial_lr(rates[i]);
  }
  return started(optimizer, rates);
}

}  // namespace

CyclicLR::CyclicLR(Optimizer& optimizer, CyclicLROptions options)
    : LRScheduler(started(optimizer, options.base_lr().for_groups("base_lr", optimizer))),
      options_(std::move(options)),
      low_(options_.base_lr().for_groups("base_lr", optimizer)),
      high_(options_.max_lr().for_groups("max_lr", optimizer)) {
  const std::string& mode = options_.mode();
  TAEDA_CHECK_VALUE(
      options_.scale_fn() || mode == "triangular" || mode == "triangular2" || mode == "exp_range",
      "mode is invalid and scale_fn is None");
  const auto up = static_cast<double>(options_.step_size_up());
  total_size_ =
      up + static_cast<double>(options_.step_size_down().value_or(options_.step_size_up()));
  step_ratio_ = up / total_size_;
  if (options_.cycle_momentum()) {
    check_momentum(optimizer);
    low_momentum_ = options_.base_momentum().for_groups("base_momentum", optimizer);
    high_momentum_ = options_.max_momentum().for_groups("max_momentum", optimizer);
  }
  step();
}

double CyclicLR::scale(double cycle) const {
  const auto epoch = static_cast<double>(step_count_);
  if (options_.scale_fn()) {
    return options_.scale_fn()(options_.scale_mode() == "cycle" ? cycle : epoch);
  }
  if (options_.mode() == "triangular2") return 1 / std::pow(2.0, cycle - 1);
  return options_.mode() == "exp_range" ? std::pow(options_.gamma(), epoch) : 1.0;
}

std::vector<double> CyclicLR::get_lrs() {
  const double place = static_cast<double>(step_count_) / total_size_;
  const double cycle = std::floor(1 + place), x = 1 + place - cycle;
  const double height =
      (x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1)) * scale(cycle);
  std::vector<OptimizerParamGroup>& groups = optimizer().param_groups();
  std::vector<double> rates = low_;
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i] += (high_[i] - low_[i]) * height;
    if (!options_.cycle_momentum()) continue;
    const double most = high_momentum_[i];
    groups[i].options().set_momentum(most - (most - low_momentum_[i]) * height);
  }
  return rates;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : LRScheduler(started(optimizer, options)),
      options_(std::move(options)),
      most_(options_.max_lr().for_groups("max_lr", optimizer)) {
  const double start = options_.pct_start();
  const std::string& strategy = options_.anneal_strategy();
  TAEDA_CHECK_VALUE(options_.total_steps() > 0, "Expected positive integer total_steps, but got ",
                    options_.total_steps());
  TAEDA_CHECK_VALUE(start >= 0 && start <= 1, "Expected float between 0 and 1 pct_start, but got ",
                    start);
  TAEDA_CHECK_VALUE(strategy == "cos" || strategy == "linear",
                    "anneal_strategy must be one of 'cos' or 'linear', instead got ", strategy);
  for (const double most : most_) {
    first_.push_back(most / options_.div_factor());
    least_.push_back(first_.back() / options_.final_div_factor());
  }
  low_momentum_.assign(most_.size(), 0);
  high_momentum_ = low_momentum_;
  if (options_.cycle_momentum()) {
    check_momentum(optimizer);
    low_momentum_ = options_.base_momentum().for_groups("base_momentum", optimizer);
    high_momentum_ = options_.max_momentum().for_groups("max_momentum", optimizer);
  }
  step();
}

std::vector<OneCycleLR::Phase> OneCycleLR::phases() const {
  const auto total = static_cast<double>(options_.total_steps());
  const double up = options_.pct_start() * total - 1;
  const Ends down{&low_momentum_, &high_momentum_};
  const Phase rise{up, {&first_, &most_}, {&high_momentum_, &low_momentum_}};
  if (!options_.three_phase()) return {rise, {total - 1, {&most_, &least_}, down}};
  return {rise,
          {2 * options_.pct_start() * total - 2, {&most_, &first_}, down},
          {total - 1, {&first_, &least_}, {&high_momentum_, &high_momentum_}}};
}

double OneCycleLR::between(double start, double end, double part) const {
  if (options_.anneal_strategy() == "linear") return (end - start) * part + start;
  return end + (start - end) / 2 * (std::cos(std::numbers::pi * part) + 1);
}

std::vector<double> OneCycleLR::get_lrs() {
  const auto step = static_cast<double>(step_count_);
  TAEDA_CHECK_VALUE(static_cast<int64_t>(step_count_) <= options_.total_steps(), "Tried to step ",
                    step_count_, " times. The specified number of total steps is ",
                    options_.total_steps());
  const std::vector<Phase> all = phases();
  size_t at = 0;
  double begin = 0;
  while (at + 1 < all.size() && step > all[at].end_step) begin = all[at++].end_step;
  const Phase& phase = all[at];
  const double part = (step - begin) / (phase.end_step - begin);
  std::vector<OptimizerParamGroup>& groups = optimizer().param_groups();
  std::vector<double> rates;
  for (size_t i = 0; i < most_.size(); ++i) {
    rates.push_back(between((*phase.lr.start)[i], (*phase.lr.end)[i], part));
    if (!options_.cycle_momentum()) continue;
    groups[i].options().set_momentum(
        between((*phase.momentum.start)[i], (*phase.momentum.end)[i], part));
  }
  return rates;
}

}  // namespace taeda::optim
