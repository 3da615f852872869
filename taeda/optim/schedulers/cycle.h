// Schedules that go up and down between two rates, with momentum against them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "taeda/optim/schedulers/lr_scheduler.h"

namespace taeda::optim {

// `mode` says how the height of cycles changes: "triangular" not at all, "triangular2" by half each
// cycle, "exp_range" by `gamma` each step; or `scale_fn`, of the cycle or of the step
// ("iterations") as `scale_mode` says.
class TAEDA_API CyclicLROptions {
 public:
  CyclicLROptions(PerGroup base_lr, PerGroup max_lr)
      : base_lr_(std::move(base_lr)), max_lr_(std::move(max_lr)) {}
  TAEDA_ARG(PerGroup, base_lr);
  TAEDA_ARG(PerGroup, max_lr);
  TAEDA_ARG(int64_t, step_size_up) = 2000;
  TAEDA_ARG(std::optional<int64_t>, step_size_down) = std::nullopt;
  TAEDA_ARG(std::string, mode) = "triangular";
  TAEDA_ARG(double, gamma) = 1.0;
  TAEDA_ARG(std::function<double(double)>, scale_fn) = nullptr;
  TAEDA_ARG(std::string, scale_mode) = "cycle";
  TAEDA_ARG(bool, cycle_momentum) = true;
  TAEDA_ARG(PerGroup, base_momentum) = 0.8;
  TAEDA_ARG(PerGroup, max_momentum) = 0.9;
};

class TAEDA_API CyclicLR : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, CyclicLROptions options);

 private:
  std::vector<double> get_lrs() override;
  double scale(double cycle) const;

  CyclicLROptions options_;
  double total_size_, step_ratio_;
  std::vector<double> low_, high_, low_momentum_, high_momentum_;
};

// One cycle over all steps: a rise to `max_lr` from a `div_factor`th of it, and a fall to a
// `final_div_factor`th of that; `anneal_strategy` is "cos" or "linear".
class TAEDA_API OneCycleLROptions {
 public:
  OneCycleLROptions(PerGroup max_lr, int64_t total_steps)
      : max_lr_(std::move(max_lr)), total_steps_(total_steps) {}
  TAEDA_ARG(PerGroup, max_lr);
  TAEDA_ARG(int64_t, total_steps);
  TAEDA_ARG(double, pct_start) = 0.3;
  TAEDA_ARG(std::string, anneal_strategy) = "cos";
  TAEDA_ARG(bool, cycle_momentum) = true;
  TAEDA_ARG(PerGroup, base_momentum) = 0.85;
  TAEDA_ARG(PerGroup, max_momentum) = 0.95;
  TAEDA_ARG(double, div_factor) = 25.0;
  TAEDA_ARG(double, final_div_factor) = 1e4;
  TAEDA_ARG(bool, three_phase) = false;
};

class TAEDA_API OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);

 private:
  // What a phase starts and ends at, per group.
  struct Ends {
    const std::vector<double>*start, *end;
  };
  struct Phase {
    double end_step;
    Ends lr, momentum;
  };
  std::vector<double> get_lrs() override;
  std::vector<Phase> phases() const;
  double between(double start, double end, double part) const;

  OneCycleLROptions options_;
  std::vector<double> first_, most_, least_, low_momentum_, high_momentum_;
};

}  // namespace taeda::optim
