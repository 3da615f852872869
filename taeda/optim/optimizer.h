// What optimizers share: groups of parameters with options, steps, clearing of gradients.
//
//   optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   sgd.zero_grad(); loss.backward(); sgd.step();
//
// Options are copied per group; a step changes parameters in place without gradients.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/nn/arg.h"

namespace taeda::optim {

class TAEDA_API OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  virtual double get_lr() const = 0;
  virtual void set_lr(double lr) = 0;
  // Throws where a number is out of its range.
  virtual void check() const = 0;
};

// Parameters with options of their own, or with the optimizer's where none are given.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}  // NOLINT
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  OptimizerParamGroup(OptimizerParamGroup&&) = default;

  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options() { return *options_; }
  const OptimizerOptions& options() const { return *options_; }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

class TAEDA_API Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;

  Optimizer(std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  void add_param_group(OptimizerParamGroup group);
  // One step; `closure` clears the gradients, computes the loss and calls backward.
  virtual Tensor step(LossClosure closure = nullptr);
  void zero_grad(bool set_to_none = true);

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return groups_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  size_t size() const noexcept;  // parameters of all groups

 protected:
  // Changes a parameter that has a gradient; called without gradients.
  virtual void update(Tensor& parameter, const Tensor& grad, OptimizerOptions& options) = 0;

 private:
  std::vector<OptimizerParamGroup> groups_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

// An optimizer with typed options and a state per parameter.
template <class Options, class State>
class OptimizerWith : public Optimizer {
 public:
  explicit OptimizerWith(std::vector<OptimizerParamGroup> groups, Options defaults)
      : Optimizer(std::move(groups), std::make_unique<Options>(std::move(defaults))) {}
  explicit OptimizerWith(std::vector<Tensor> params, Options defaults)
      : OptimizerWith(one_group(std::move(params)), std::move(defaults)) {}

  // The state of a parameter, or null before its first step.
  const State* state(const Tensor& parameter) const {
    const auto found = states_.find(parameter.impl());
    return found == states_.end() ? nullptr : &found->second;
  }

 protected:
  virtual void update(Tensor& parameter, const Tensor& grad, const Options& options,
                      State& state) = 0;

 private:
  static std::vector<OptimizerParamGroup> one_group(std::vector<Tensor> params) {
    std::vector<OptimizerParamGroup> groups;
    groups.emplace_back(std::move(params));
    return groups;
  }
  void update(Tensor& parameter, const Tensor& grad, OptimizerOptions& options) final {
    update(parameter, grad, static_cast<const Options&>(options), states_[parameter.impl()]);
  }
  std::unordered_map<const TensorImpl*, State> states_;
};

// What options have in common: a learning rate and a copy.
template <class Derived>
class OptionsOf : public OptimizerOptions {
 public:
  explicit OptionsOf(double lr) : lr_(lr) {}
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }

  Derived& lr(double value) {
    lr_ = value;
    return static_cast<Derived&>(*this);
  }
  const double& lr() const noexcept { return lr_; }
  double& lr() noexcept { return lr_; }

 private:
  double lr_;
};

}  // namespace taeda::optim
