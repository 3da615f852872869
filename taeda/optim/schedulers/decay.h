// Schedules whose factor the epoch determines: steps, milestones, warm-up, powers, functions.
#pragma once

#include <functional>
#include <vector>

#include "taeda/optim/schedulers/lr_scheduler.h"

namespace taeda::optim {

// The rate times `gamma` every `step_size` steps.
class TAEDA_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  unsigned step_size_;
  double gamma_;
};

// Times `gamma` at each of the milestones.
class TAEDA_API MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  std::vector<int64_t> milestones_;
  double gamma_;
};

// Times `factor` for the first `total_iters` epochs.
class TAEDA_API ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, unsigned total_iters = 5);

 private:
  std::vector<double> get_lrs() override;
  double factor_;
  unsigned total_iters_;
};

// From `start_factor` to `end_factor` in equal steps over `total_iters` epochs.
class TAEDA_API LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
                    unsigned total_iters = 5);

 private:
  std::vector<double> get_lrs() override;
  double start_factor_, end_factor_;
  unsigned total_iters_;
};

// Times `gamma` every epoch.
class TAEDA_API ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  std::vector<double> get_lrs() override;
  double gamma_;
};

// To zero over `total_iters` epochs as a power of the epochs that are left.
class TAEDA_API PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, unsigned total_iters = 5, double power = 1.0);

 private:
  std::vector<double> get_lrs() override;
  unsigned total_iters_;
  double power_;
};

using EpochFunction = std::function<double(int64_t)>;

// The base rate times a function of the epoch: one for all groups, or one per group.
class TAEDA_API LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, EpochFunction lr_lambda);
  LambdaLR(Optimizer& optimizer, std::vector<EpochFunction> lr_lambdas);

 private:
  std::vector<double> get_lrs() override;
  std::vector<EpochFunction> functions_;
};

// The current rate times a function of the epoch.
class TAEDA_API MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, EpochFunction lr_lambda);
  MultiplicativeLR(Optimizer& optimizer, std::vector<EpochFunction> lr_lambdas);
  // From the current rates, as this schedule has no others.
  void restart() override;

 private:
  std::vector<double> get_lrs() override;
  std::vector<double> multiplied(int64_t epoch) const;
  std::vector<EpochFunction> functions_;
};

}  // namespace taeda::optim
