// Adagrad: rates that fall with the sum of squared gradients.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API AdagradOptions : public OptionsOf<AdagradOptions> {
 public:
  AdagradOptions(double lr = 1e-2) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, lr_decay) = 0;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(double, initial_accumulator_value) = 0;
  TAEDA_ARG(double, eps) = 1e-10;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("lr_decay", lr_decay_);
    visit("weight_decay", weight_decay_);
    visit("initial_accumulator_value", initial_accumulator_value_);
    visit("eps", eps_);
  }
};

class AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  TAEDA_ARG(Tensor, sum) = {};
  TAEDA_ARG(int64_t, step) = 0;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("sum", sum_);
    visit("step", step_);
  }
};

class TAEDA_API Adagrad : public StepwiseOptimizer<AdagradOptions, AdagradParamState> {
 public:
  // States are made with the optimizer: their sums start at a value that options give.
  explicit Adagrad(std::vector<OptimizerParamGroup> groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {});

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdagradOptions& options,
              AdagradParamState& state) override;

 private:
  void make_states();
};

}  // namespace taeda::optim
