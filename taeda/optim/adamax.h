// Adamax: Adam whose denominator is a decaying maximum of the gradients.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API AdamaxOptions : public OptionsOf<AdamaxOptions> {
 public:
  AdamaxOptions(double lr = 2e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(NumberPair, betas) = { 0.9, 0.999 };
  TAEDA_ARG(double, eps) = 1e-8;
  TAEDA_ARG(double, weight_decay) = 0;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("betas", betas_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
  }
};

class AdamaxParamState : public OptimizerCloneableParamState<AdamaxParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, exp_avg) = {};
  TAEDA_ARG(Tensor, exp_inf) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("exp_avg", exp_avg_);
    visit("exp_inf", exp_inf_);
  }
};

class TAEDA_API Adamax : public StepwiseOptimizer<AdamaxOptions, AdamaxParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdamaxOptions& options,
              AdamaxParamState& state) override;
};

}  // namespace taeda::optim
