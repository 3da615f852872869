// Stochastic gradient descent with momentum.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API SGDOptions : public OptionsOf<SGDOptions> {
 public:
  SGDOptions(double lr = 1e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, momentum) = 0;
  TAEDA_ARG(double, dampening) = 0;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(bool, nesterov) = false;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("momentum", momentum_);
    visit("dampening", dampening_);
    visit("weight_decay", weight_decay_);
    visit("nesterov", nesterov_);
  }
};

class SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  TAEDA_ARG(Tensor, momentum_buffer) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("momentum_buffer", momentum_buffer_);
  }
};

class TAEDA_API SGD : public StepwiseOptimizer<SGDOptions, SGDParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const SGDOptions& options,
              SGDParamState& state) override;
};

}  // namespace taeda::optim
