// Rprop: a step size per element, which grows while the gradient keeps its sign.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// `etas` shrink and grow the step sizes, which stay within `step_sizes`.
class TAEDA_API RpropOptions : public OptionsOf<RpropOptions> {
 public:
  RpropOptions(double lr = 1e-2) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(NumberPair, etas) = { 0.5, 1.2 };
  TAEDA_ARG(NumberPair, step_sizes) = { 1e-6, 50 };

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("etas", etas_);
    visit("step_sizes", step_sizes_);
  }
};

class RpropParamState : public OptimizerCloneableParamState<RpropParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, prev) = {};
  TAEDA_ARG(Tensor, step_size) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("prev", prev_);
    visit("step_size", step_size_);
  }
};

class TAEDA_API Rprop : public StepwiseOptimizer<RpropOptions, RpropParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const RpropOptions& options,
              RpropParamState& state) override;
};

}  // namespace taeda::optim
