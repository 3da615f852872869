// ReduceLROnPlateauScheduler: a lower learning rate when a metric no longer improves.
#pragma once

#include <vector>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// The rate times `factor` once a metric has not improved for more than `patience` steps. Better
// means lower (min) or higher (max) than the best so far, by a part of it (rel) or a number (abs).
class TAEDA_API ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };

  // `min_lr` has a number per group, or none; steps that change a rate by less than `eps` are not
  // taken. `verbose` warns of each change.
  explicit ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min,
                                      float factor = 0.1F, int patience = 10,
                                      double threshold = 1e-4, ThresholdMode threshold_mode = rel,
                                      int cooldown = 0, const std::vector<float>& min_lr = {},
                                      double eps = 1e-8, bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler() = default;
  void step(double metric);

 private:
  bool is_better(double metric) const;
  void reduce_rates();

  Optimizer& optimizer_;
  SchedulerMode mode_;
  double factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_;
  std::vector<double> min_lrs_;
  double eps_;
  bool is_verbose_;
  double best_;
  int bad_steps_ = 0, cooldown_left_ = 0, steps_ = 0;
};

}  // namespace taeda::optim
