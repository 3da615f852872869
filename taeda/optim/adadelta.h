// Adadelta: steps in units of the parameters, by means of squares of gradients and steps.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API AdadeltaOptions : public OptionsOf<AdadeltaOptions> {
 public:
  AdadeltaOptions(double lr = 1.0) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, rho) = 0.9;
  TAEDA_ARG(double, eps) = 1e-6;
  TAEDA_ARG(double, weight_decay) = 0;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("rho", rho_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
  }
};

class AdadeltaParamState : public OptimizerCloneableParamState<AdadeltaParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, square_avg) = {};
  TAEDA_ARG(Tensor, acc_delta) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("square_avg", square_avg_);
    visit("acc_delta", acc_delta_);
  }
};

class TAEDA_API Adadelta : public StepwiseOptimizer<AdadeltaOptions, AdadeltaParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdadeltaOptions& options,
              AdadeltaParamState& state) override;
};

}  // namespace taeda::optim
