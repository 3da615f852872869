// RAdam: Adam whose first steps, while the mean of squares is of few gradients, are momentum alone.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API RAdamOptions : public OptionsOf<RAdamOptions> {
 public:
  RAdamOptions(double lr = 1e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(NumberPair, betas) = { 0.9, 0.999 };
  TAEDA_ARG(double, eps) = 1e-8;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(bool, decoupled_weight_decay) = false;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("betas", betas_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
    visit("decoupled_weight_decay", decoupled_weight_decay_);
  }
};

class RAdamParamState : public OptimizerCloneableParamState<RAdamParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, exp_avg) = {};
  TAEDA_ARG(Tensor, exp_avg_sq) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("exp_avg", exp_avg_);
    visit("exp_avg_sq", exp_avg_sq_);
  }
};

class TAEDA_API RAdam : public StepwiseOptimizer<RAdamOptions, RAdamParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const RAdamOptions& options,
              RAdamParamState& state) override;
};

}  // namespace taeda::optim
