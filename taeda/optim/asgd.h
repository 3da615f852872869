// ASGD: gradient descent whose result is the mean of the parameters over its steps.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// From step `t0` on the state `ax` holds the mean.
class TAEDA_API ASGDOptions : public OptionsOf<ASGDOptions> {
 public:
  ASGDOptions(double lr = 1e-2) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, lambd) = 1e-4;
  TAEDA_ARG(double, alpha) = 0.75;
  TAEDA_ARG(double, t0) = 1e6;
  TAEDA_ARG(double, weight_decay) = 0;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("lambd", lambd_);
    visit("alpha", alpha_);
    visit("t0", t0_);
    visit("weight_decay", weight_decay_);
  }
};

class ASGDParamState : public OptimizerCloneableParamState<ASGDParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, eta) = {};
  TAEDA_ARG(Tensor, mu) = {};
  TAEDA_ARG(Tensor, ax) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("eta", eta_);
    visit("mu", mu_);
    visit("ax", ax_);
  }
};

class TAEDA_API ASGD : public StepwiseOptimizer<ASGDOptions, ASGDParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const ASGDOptions& options,
              ASGDParamState& state) override;
};

}  // namespace taeda::optim
