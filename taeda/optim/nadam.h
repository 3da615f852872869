// NAdam: Adam with Nesterov's momentum.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API NAdamOptions : public OptionsOf<NAdamOptions> {
 public:
  NAdamOptions(double lr = 2e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(NumberPair, betas) = { 0.9, 0.999 };
  TAEDA_ARG(double, eps) = 1e-8;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(double, momentum_decay) = 4e-3;
  TAEDA_ARG(bool, decoupled_weight_decay) = false;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("betas", betas_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
    visit("momentum_decay", momentum_decay_);
    visit("decoupled_weight_decay", decoupled_weight_decay_);
  }
};

class NAdamParamState : public OptimizerCloneableParamState<NAdamParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, mu_product) = {};
  TAEDA_ARG(Tensor, exp_avg) = {};
  TAEDA_ARG(Tensor, exp_avg_sq) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("mu_product", mu_product_);
    visit("exp_avg", exp_avg_);
    visit("exp_avg_sq", exp_avg_sq_);
  }
};

class TAEDA_API NAdam : public StepwiseOptimizer<NAdamOptions, NAdamParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const NAdamOptions& options,
              NAdamParamState& state) override;
};

}  // namespace taeda::optim
