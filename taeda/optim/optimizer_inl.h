// The bodies of the templates of optimizer.h.
#pragma once

#include <optional>
#include <tuple>

#include "taeda/autograd/guards.h"
#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// Fields of options and states in archives. Numbers are written as they are; a tensor, a list of
// tensors and an option may be missing.
class FieldWriter {
 public:
  explicit FieldWriter(serialization::OutputArchive& archive) : archive_(archive) {}
  void operator()(const char* name, const int64_t& value) { archive_.write(name, value); }
  void operator()(const char* name, const double& value) { archive_.write(name, value); }
  void operator()(const char* name, const bool& value) {
    archive_.write(name, static_cast<int64_t>(value));
  }
  void operator()(const char* name, const Tensor& value) {
    if (value.defined()) archive_.write(name, value, /*is_buffer=*/true);
  }
  void operator()(const char* name, const std::tuple<double, double>& value) {
    archive_.write(name + std::string("0"), std::get<0>(value));
    archive_.write(name + std::string("1"), std::get<1>(value));
  }
  void operator()(const char* name, const std::optional<int64_t>& value) {
    if (value) archive_.write(name, *value);
  }
  template <class Items>
    requires requires(const Items& items) { items.begin() != items.end(); }
  void operator()(const char* name, const Items& items) {
    int64_t i = 0;
    serialization::OutputArchive nested;
    for (const Tensor& item : items) nested.write(std::to_string(i++), item, /*is_buffer=*/true);
    archive_.write(name, nested);
  }

 private:
  serialization::OutputArchive& archive_;
};

class FieldReader {
 public:
  explicit FieldReader(const serialization::InputArchive& archive) : archive_(archive) {}
  void operator()(const char* name, int64_t& value) { archive_.read(name, value); }
  void operator()(const char* name, double& value) { archive_.read(name, value); }
  void operator()(const char* name, bool& value) {
    int64_t number = 0;
    archive_.read(name, number);
    value = number != 0;
  }
  void operator()(const char* name, Tensor& value) {
    value.reset();
    archive_.try_read(name, value, /*is_buffer=*/true);
  }
  void operator()(const char* name, std::tuple<double, double>& value) {
    archive_.read(name + std::string("0"), std::get<0>(value));
    archive_.read(name + std::string("1"), std::get<1>(value));
  }
  void operator()(const char* name, std::optional<int64_t>& value) {
    int64_t number = 0;
    value = archive_.try_read(name, number) ? std::optional(number) : std::nullopt;
  }
  template <class Items>
    requires requires(Items& items) { items.begin() != items.end(); }
  void operator()(const char* name, Items& items) {
    items.clear();
    serialization::InputArchive nested;
    if (!archive_.try_read(name, nested)) return;
    for (int64_t i = 0;; ++i) {
      Tensor item;
      if (!nested.try_read(std::to_string(i), item, /*is_buffer=*/true)) break;
      items.push_back(std::move(item));
    }
  }

 private:
  const serialization::InputArchive& archive_;
};

template <class Options, class State>
void OptimizerWith<Options, State>::save(serialization::OutputArchive& archive) const {
  archive.write("groups", static_cast<int64_t>(param_groups().size()));
  int64_t group_number = 0, number = 0;
  for (const OptimizerParamGroup& group : param_groups()) {
    serialization::OutputArchive options;
    // Fields are named by one function for reading and writing.
    const_cast<Options&>(static_cast<const Options&>(group.options())).each(FieldWriter(options));
    options.write("params", static_cast<int64_t>(group.params().size()));
    archive.write("group" + std::to_string(group_number++), options);
    for (const Tensor& parameter : group.params()) {
      const State* found = state_of(parameter);
      const std::string key = "state" + std::to_string(number++);
      if (!found) continue;
      serialization::OutputArchive state;
      const_cast<State*>(found)->each(FieldWriter(state));
      archive.write(key, state);
    }
  }
}

template <class Options, class State>
void OptimizerWith<Options, State>::load(serialization::InputArchive& archive) {
  int64_t groups = 0, group_number = 0, number = 0;
  archive.read("groups", groups);
  TAEDA_CHECK(groups == static_cast<int64_t>(param_groups().size()),
              "loaded state dict has a different number of parameter groups");
  state().clear();
  for (OptimizerParamGroup& group : param_groups()) {
    serialization::InputArchive options;
    archive.read("group" + std::to_string(group_number++), options);
    int64_t count = 0;
    options.read("params", count);
    TAEDA_CHECK(count == static_cast<int64_t>(group.params().size()),
                "loaded state dict contains a parameter group that has a different size than the "
                "optimizer's parameter group");
    static_cast<Options&>(group.options()).each(FieldReader(options));
    for (const Tensor& parameter : group.params()) {
      serialization::InputArchive state;
      if (archive.try_read("state" + std::to_string(number++), state)) {
        made_state(parameter).each(FieldReader(state));
      }
    }
  }
}

template <class Options, class State>
Tensor StepwiseOptimizer<Options, State>::step(Optimizer::LossClosure closure) {
  Tensor loss;
  if (closure) {
    const AutoGradMode with_grad(true);
    loss = closure();
  }
  const NoGradGuard no_grad;
  for (OptimizerParamGroup& group : this->param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    for (Tensor& parameter : group.params()) {
      const Tensor grad = parameter.grad();
      if (grad.defined()) update(parameter, grad, options, this->made_state(parameter));
    }
  }
  return loss;
}

}  // namespace taeda::optim
