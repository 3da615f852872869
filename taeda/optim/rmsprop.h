// RMSprop: gradients over the root of their running mean square.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API RMSpropOptions : public OptionsOf<RMSpropOptions> {
 public:
  RMSpropOptions(double lr = 1e-2) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, alpha) = 0.99;
  TAEDA_ARG(double, eps) = 1e-8;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(double, momentum) = 0;
  TAEDA_ARG(bool, centered) = false;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("alpha", alpha_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
    visit("momentum", momentum_);
    visit("centered", centered_);
  }
};

class RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, square_avg) = {};
  TAEDA_ARG(Tensor, momentum_buffer) = {};
  TAEDA_ARG(Tensor, grad_avg) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("square_avg", square_avg_);
    visit("momentum_buffer", momentum_buffer_);
    visit("grad_avg", grad_avg_);
  }
};

class TAEDA_API RMSprop : public StepwiseOptimizer<RMSpropOptions, RMSpropParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const RMSpropOptions& options,
              RMSpropParamState& state) override;
};

}  // namespace taeda::optim
