// Schedules made of schedules: one after the other, or all at once.
#pragma once

#include <memory>
#include <vector>

#include "taeda/optim/schedulers/lr_scheduler.h"

namespace taeda::optim {

using SchedulerList = std::vector<std::shared_ptr<LRScheduler>>;

// One schedule after the other; each begins at its milestone, with its epoch 0.
class TAEDA_API SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, SchedulerList schedulers, std::vector<int64_t> milestones);
  void step() override;
  void begin() override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  SchedulerList schedulers_;
  std::vector<int64_t> milestones_;
};

// All schedules at once, each on what the one before it left.
class TAEDA_API ChainedScheduler : public LRScheduler {
 public:
  // Of the optimizer of the first one.
  explicit ChainedScheduler(SchedulerList schedulers);
  void step() override;
  void begin() override;
  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  SchedulerList schedulers_;
};

}  // namespace taeda::optim
