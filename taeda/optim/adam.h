// Adam and AdamW.
#pragma once

#include <tuple>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// Throws where one of the numbers is out of its range.
TAEDA_API void check_adam(double lr, std::tuple<double, double> betas, double eps,
                          double weight_decay);

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

struct AdamState {
  int64_t step = 0;
  Tensor exp_avg, exp_avg_sq, max_exp_avg_sq;
};

class TAEDA_API Adam : public OptimizerWith<AdamOptions, AdamState> {
 public:
  using OptimizerWith::OptimizerWith;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdamOptions& options,
              AdamState& state) override;
};

class TAEDA_API AdamW : public OptimizerWith<AdamWOptions, AdamState> {
 public:
  using OptimizerWith::OptimizerWith;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const AdamWOptions& options,
              AdamState& state) override;
};

}  // namespace taeda::optim
