// What optimizers share: groups of parameters with options, a state per parameter, steps, clearing
// of gradients, saving.
//
//   optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
//   sgd.zero_grad(); loss.backward(); sgd.step();
//
// Options are copied per group; a step changes parameters in place without gradients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/nn/arg.h"
#include "taeda/serialization/archive.h"

namespace taeda::optim {

using NumberPair = std::tuple<double, double>;  // of betas and limits

// Whether options, or states, have equal values in the fields that `each` names.
template <class T>
bool has_equal_fields(const T& a, const T& b);

// What an optimizer remembers of a parameter.
class TAEDA_API OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  virtual std::unique_ptr<OptimizerParamState> clone() const = 0;
};

template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

class TAEDA_API OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  // RuntimeError where a class has no learning rate.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  // Momentum, or the first beta; absent where a class has neither.
  virtual std::optional<double> get_momentum() const { return std::nullopt; }
  virtual void set_momentum(double) {}
  // Throws where a number is out of its range.
  virtual void check() const {}
  // Takes over from the options of the optimizer what has the value that a class starts with.
  virtual void inherit(const OptimizerOptions&) {}
};

template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

// Options with a learning rate, whose classes name their fields by `each(visitor)`:
// visitor(name, field).
template <class Derived>
class OptionsOf : public OptimizerCloneableOptions<Derived> {
 public:
  explicit OptionsOf(double lr) : lr_(lr) {}
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  std::optional<double> get_momentum() const override {
    const auto& self = static_cast<const Derived&>(*this);
    if constexpr (requires { self.betas(); }) {
      return std::get<0>(self.betas());
    } else if constexpr (requires { self.momentum(); }) {
      return self.momentum();
    }
    return std::nullopt;
  }
  void set_momentum(double value) override {
    auto& self = static_cast<Derived&>(*this);
    if constexpr (requires { self.betas(); }) {
      self.betas({value, std::get<1>(self.betas())});
    } else if constexpr (requires { self.momentum(); }) {
      self.momentum(value);
    }
  }
  void inherit(const OptimizerOptions& defaults) override;
  void serialize(serialization::OutputArchive& archive) const;
  void serialize(serialization::InputArchive& archive);
  friend bool operator==(const Derived& a, const Derived& b) { return has_equal_fields(a, b); }

  Derived& lr(double value) {
    lr_ = value;
    return static_cast<Derived&>(*this);
  }
  const double& lr() const noexcept { return lr_; }
  double& lr() noexcept { return lr_; }

 private:
  double lr_;
};

// Parameters with options of their own, or with the optimizer's where none are given. Those of
// its own that have the value which their class starts with are the optimizer's, too.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}  // NOLINT
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_),
        options_(other.options_ ? other.options_->clone() : nullptr),
        initial_lr_(other.initial_lr_) {}
  OptimizerParamGroup(OptimizerParamGroup&&) = default;

  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options() { return *options_; }
  const OptimizerOptions& options() const { return *options_; }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  // The rate that the first of the schedules found.
  const std::optional<double>& initial_lr() const { return initial_lr_; }
  void set_initial_lr(double rate) { initial_lr_ = rate; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

class TAEDA_API Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  // By the tensor's implementation: state().at(parameter.unsafeGetTensorImpl()).
  using States = std::unordered_map<const void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults);
  explicit Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  void add_param_group(OptimizerParamGroup group);
  // To the first group.
  void add_parameters(const std::vector<Tensor>& parameters);
  // One step; `closure` clears the gradients, computes the loss and calls backward.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return groups_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  States& state() noexcept { return states_; }
  const States& state() const noexcept { return states_; }
  std::vector<Tensor> parameters() const;  // of all groups
  size_t size() const noexcept;            // how many parameters

  // Options of groups and states of parameters, in the order of the groups.
  virtual void save(serialization::OutputArchive& archive) const;
  virtual void load(serialization::InputArchive& archive);

 private:
  std::vector<OptimizerParamGroup> groups_;
  std::unique_ptr<OptimizerOptions> defaults_;
  States states_;
};

// An optimizer with typed options and states, which name their fields by
// `each(visitor)`: visitor(name, field).
template <class Options, class State>
class OptimizerWith : public Optimizer {
 public:
  explicit OptimizerWith(std::vector<OptimizerParamGroup> groups, Options defaults = {})
      : Optimizer(std::move(groups), std::make_unique<Options>(std::move(defaults))) {}
  explicit OptimizerWith(std::vector<Tensor> params, Options defaults = {})
      : Optimizer(std::move(params), std::make_unique<Options>(std::move(defaults))) {}

  // The state of a parameter, or null before its first step.
  const State* state_of(const Tensor& parameter) const {
    const auto found = state().find(parameter.impl());
    return found == state().end() ? nullptr : static_cast<const State*>(found->second.get());
  }

  void save(serialization::OutputArchive& archive) const override;
  void load(serialization::InputArchive& archive) override;

 protected:
  // The same, made where there is none.
  State& made_state(const Tensor& parameter) {
    std::unique_ptr<OptimizerParamState>& state = this->state()[parameter.impl()];
    if (!state) state = std::make_unique<State>();
    return static_cast<State&>(*state);
  }
};

// One that changes each parameter by its own gradient and state.
template <class Options, class State>
class StepwiseOptimizer : public OptimizerWith<Options, State> {
 public:
  using OptimizerWith<Options, State>::OptimizerWith;
  Tensor step(Optimizer::LossClosure closure = nullptr) override;

 protected:
  // Changes a parameter that has a gradient; called without gradients.
  virtual void update(Tensor& parameter, const Tensor& grad, const Options& options,
                      State& state) = 0;
};

}  // namespace taeda::optim

#include "taeda/optim/optimizer_inl.h"
