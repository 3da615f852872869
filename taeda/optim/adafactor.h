// Adafactor: Adam's denominator from sums over rows and columns, and steps relative to the size.
#pragma once

#include <optional>
#include <tuple>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// The first of `eps` is that of the parameter's dtype unless set.
class TAEDA_API AdafactorOptions : public OptionsOf<AdafactorOptions> {
 public:
  using Epsilons = std::tuple<std::optional<double>, double>;
  AdafactorOptions(double lr = 1e-2) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, beta2_decay) = -0.8;
  TAEDA_ARG(Epsilons, eps) = { std::nullopt, 1e-3 };
  TAEDA_ARG(double, d) = 1.0;
  TAEDA_ARG(double, weight_decay) = 0;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("beta2_decay", beta2_decay_);
    visit("eps", eps_);
    visit("d", d_);
    visit("weight_decay", weight_decay_);
  }
};

// Of a matrix a row and a column, of a vector a vector.
class AdafactorParamState : public OptimizerCloneableParamState<AdafactorParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, row_var) = {};
  TAEDA_ARG(Tensor, col_var) = {};
  TAEDA_ARG(Tensor, variance) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("row_var", row_var_);
    visit("col_var", col_var_);
    visit("variance", variance_);
  }
};

class TAEDA_API Adafactor : public StepwiseOptimizer<AdafactorOptions, AdafactorParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdafactorOptions& options,
              AdafactorParamState& state) override;
};

}  // namespace taeda::optim
