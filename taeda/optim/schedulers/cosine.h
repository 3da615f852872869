// Schedules along a cosine, once or with restarts.
#pragma once

#include <vector>

#include "taeda/optim/schedulers/lr_scheduler.h"

namespace taeda::optim {

// From the base rate to `eta_min` along half a cosine of `T_max` epochs, and up again.
class TAEDA_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 private:
  std::vector<double> get_lrs() override;
  int64_t T_max_;
  double eta_min_;
};

// Cosines of `T_0` epochs, each `T_mult` times as long as the one before it.
class TAEDA_API CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1,
                              double eta_min = 0);
  void step() override;
  // The rates of an epoch, which may lie between two.
  void step(double epoch);
  void begin() override { step(0); }
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override;
  int64_t T_0_, T_mult_;
  double eta_min_;
  double T_i_, T_cur_ = 0;  // the length of the present cosine, and the place in it
};

}  // namespace taeda::optim
