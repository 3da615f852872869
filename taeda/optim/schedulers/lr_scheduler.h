// What schedules of the learning rate share: `step` after each epoch writes the rates of all
// groups.
//
//   optim::CosineAnnealingLR schedule(sgd, /*T_max=*/100);
//   for (...) { ...; sgd.step(); schedule.step(); }
//
// Taeda's schedules count as those in Python: the rates of epoch 0 are set when a schedule is made,
// each step sets those of the next epoch, and a schedule goes from the current rates to the next,
// so that several may act on one optimizer. The optimizer must outlive them.
#pragma once

#include <initializer_list>
#include <vector>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API LRScheduler {
 public:
  // Notes the rates of the groups, or those that an earlier schedule found, as the base rates.
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler() = default;
  // Writes what `get_lrs` gives, then counts.
  virtual void step();
  // Counts anew from epoch 0: from the current rates, or from the base rates.
  virtual void begin();
  virtual void restart();
  // The rates of all groups, as they are now.
  std::vector<double> get_last_lr() const { return get_current_lrs(); }
  Optimizer& optimizer() const { return optimizer_; }

  // What goes on in another process; the rates themselves are the optimizer's.
  virtual void save(serialization::OutputArchive& archive) const;
  virtual void load(serialization::InputArchive& archive);

 protected:
  // One rate per group. `step_count_` is the number of steps before this one.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  void set_lrs(const std::vector<double>& rates);
  const std::vector<double>& base_lrs() const { return base_lrs_; }
  // The current rates, or the base rates, times a factor.
  std::vector<double> scaled(double factor) const;
  std::vector<double> of_base(double factor) const;
  unsigned step_count_ = 0;

 private:
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;
};

// One number for all groups, or one per group.
class TAEDA_API PerGroup {
 public:
  PerGroup(double value) : values_{value} {}                            // NOLINT: converts
  PerGroup(std::vector<double> values) : values_(std::move(values)) {}  // NOLINT: converts
  PerGroup(std::initializer_list<double> values) : values_(values) {}   // NOLINT: converts
  // ValueError unless there is one or as many as groups.
  std::vector<double> for_groups(const char* name, const Optimizer& optimizer) const;

 private:
  std::vector<double> values_;
};

}  // namespace taeda::optim
