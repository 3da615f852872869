// Muon: momentum whose matrices are made orthogonal before they become steps.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// `ns_coefficients` are those of the quintic whose iteration drives singular values to about one.
// `adjust_lr_fn` is absent or "original", by the shape of the matrix, or "match_rms_adamw".
class TAEDA_API MuonOptions : public OptionsOf<MuonOptions> {
 public:
  using Coefficients = std::tuple<double, double, double>;
  MuonOptions(double lr = 1e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, weight_decay) = 0.1;
  TAEDA_ARG(double, momentum) = 0.95;
  TAEDA_ARG(bool, nesterov) = true;
  TAEDA_ARG(Coefficients, ns_coefficients) = { 3.4445, -4.7750, 2.0315 };
  TAEDA_ARG(double, eps) = 1e-7;
  TAEDA_ARG(int64_t, ns_steps) = 5;
  TAEDA_ARG(std::optional<std::string>, adjust_lr_fn) = std::nullopt;

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("lr", lr());
    visit("weight_decay", weight_decay_);
    visit("momentum", momentum_);
    visit("nesterov", nesterov_);
    visit("ns_coefficients", ns_coefficients_);
    visit("eps", eps_);
    visit("ns_steps", ns_steps_);
    visit("adjust_lr_fn", adjust_lr_fn_);
  }
};

class MuonParamState : public OptimizerCloneableParamState<MuonParamState> {
  TAEDA_ARG(Tensor, momentum_buffer) = {};

 public:
  template <class Visitor>
  void each(Visitor&& visit) {
    visit("momentum_buffer", momentum_buffer_);
  }
};

class TAEDA_API Muon : public StepwiseOptimizer<MuonOptions, MuonParamState> {
 public:
  // ValueError for parameters that are no matrices; they want another optimizer beside this one.
  explicit Muon(std::vector<OptimizerParamGroup> groups, MuonOptions defaults = {});
  explicit Muon(std::vector<Tensor> params, MuonOptions defaults = {});

 protected:
  void update(Tensor& parameter, const Tensor& grad, const MuonOptions& options,
              MuonParamState& state) override;
};

}  // namespace taeda::optim
