// Adam and AdamW.
#pragma once

#include <tuple>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// Throws where one of the numbers is out of its range.
TAEDA_API void check_adam(double lr, std::tuple<double, double> betas, double eps,
                          double weight_decay);

// The gradient with that of the penalty `weight_decay / 2 * parameter ** 2`; where decay is
// decoupled, the parameter shrinks instead.
Tensor with_decay(Tensor& parameter, const Tensor& grad, double lr, double weight_decay,
                  bool is_decoupled);

// What both take; they differ in how weights decay.
template <class Derived>
class AdamOptionsOf : public OptionsOf<Derived> {
 public:
  AdamOptionsOf(double lr, double weight_decay) : OptionsOf<Derived>(lr) {
    this->weight_decay(weight_decay);
  }
  void check() const override { check_adam(this->lr(), betas_, eps_, weight_decay_); }

  Derived& betas(std::tuple<double, double> value) { return set(betas_, value); }
  const std::tuple<double, double>& betas() const noexcept { return betas_; }
  Derived& eps(double value) { return set(eps_, value); }
  const double& eps() const noexcept { return eps_; }
  Derived& weight_decay(double value) { return set(weight_decay_, value); }
  const double& weight_decay() const noexcept { return weight_decay_; }
  Derived& amsgrad(bool value) { return set(amsgrad_, value); }
  const bool& amsgrad() const noexcept { return amsgrad_; }

  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", this->lr());
    visit("betas", betas_);
    visit("eps", eps_);
    visit("weight_decay", weight_decay_);
    visit("amsgrad", amsgrad_);
  }

 private:
  template <class T>
  Derived& set(T& field, const T& value) {
    field = value;
    return static_cast<Derived&>(*this);
  }
  std::tuple<double, double> betas_{0.9, 0.999};
  double eps_ = 1e-8;
  double weight_decay_ = 0;
  bool amsgrad_ = false;
};

class TAEDA_API AdamOptions : public AdamOptionsOf<AdamOptions> {
 public:
  AdamOptions(double lr = 1e-3) : AdamOptionsOf(lr, 0) {}  // NOLINT: converts
};
class TAEDA_API AdamWOptions : public AdamOptionsOf<AdamWOptions> {
 public:
  AdamWOptions(double lr = 1e-3) : AdamOptionsOf(lr, 1e-2) {}  // NOLINT: converts
};

class AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  TAEDA_ARG(int64_t, step) = 0;
  TAEDA_ARG(Tensor, exp_avg) = {};
  TAEDA_ARG(Tensor, exp_avg_sq) = {};
  TAEDA_ARG(Tensor, max_exp_avg_sq) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("step", step_);
    visit("exp_avg", exp_avg_);
    visit("exp_avg_sq", exp_avg_sq_);
    visit("max_exp_avg_sq", max_exp_avg_sq_);
  }
};
using AdamWParamState = AdamParamState;

class TAEDA_API Adam : public StepwiseOptimizer<AdamOptions, AdamParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdamOptions& options,
              AdamParamState& state) override;
};

class TAEDA_API AdamW : public StepwiseOptimizer<AdamWOptions, AdamParamState> {
 public:
  using StepwiseOptimizer::StepwiseOptimizer;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdamWOptions& options,
              AdamParamState& state) override;
};

}  // namespace taeda::optim
