// Schedules of the learning rate: `step` after each epoch writes the rate of all groups.
#pragma once

#include <vector>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  virtual ~LRScheduler() = default;
  void step();

 protected:
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  unsigned step_count_ = 0;

 private:
  Optimizer& optimizer_;
};

// The rate times `gamma` every `step_size` steps.
class TAEDA_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
  unsigned step_size_;
  double gamma_;
};

}  // namespace taeda::optim
