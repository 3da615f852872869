// Modules that hold modules: Sequential calls them in order, ModuleList and ModuleDict only hold.
#pragma once

#include <initializer_list>
#include <ostream>

#include "taeda/nn/any_module.h"

namespace taeda::nn {

// A module with its name: Sequential({{"fc", Linear(4, 2)}, {"act", ReLU()}}).
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module)
      : name_(std::move(name)), module_(std::forward<M>(module)) {}
  const std::string& name() const noexcept { return name_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;

  SequentialImpl() = default;
  template <class... Modules>
    requires(sizeof...(Modules) > 0 &&
             !(std::is_same_v<std::decay_t<Modules>, SequentialImpl> || ...))
  explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& one : modules) push_back(one.name(), one.module());
  }

  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override {
    TAEDA_CHECK(modules_.empty(), "clone() has not been implemented for a Sequential with modules");
    return Cloneable::clone(device);
  }
  void pretty_print(std::ostream& stream) const override { stream << "taeda::nn::Sequential"; }

  template <class Result = Tensor, class... Inputs>
  Result forward(Inputs&&... inputs) {
    TAEDA_CHECK(!modules_.empty(), "Cannot call forward() on an empty Sequential");
    std::vector<std::any> values;
    (values.emplace_back(std::decay_t<Inputs>(std::forward<Inputs>(inputs))), ...);
    for (AnyModule& module : modules_) {
      std::any result = module.call(values);
      values.clear();
      values.push_back(std::move(result));
    }
    return AnyModule::taken<Result>(std::move(values.front()));
  }

  template <class M>
  void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <class M>
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), AnyModule(std::forward<M>(module)));
  }
  void push_back(std::string name, AnyModule module) {
    add_child(std::move(name), module.ptr());
    modules_.push_back(std::move(module));
  }
  void push_back(AnyModule module) {
    push_back(std::to_string(modules_.size()), std::move(module));
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  const Ptr& ptr(size_t i) const {
    TAEDA_CHECK(i < size(), "Index out of range");
    return modules_[i].ptr();
  }
  const Ptr& operator[](size_t i) const { return ptr(i); }
  template <class M>
  M& at(size_t i) {
    TAEDA_CHECK(i < size(), "Index out of range");
    return modules_[i].get<M>();
  }

 private:
  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules)
      : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  ModuleListImpl() = default;
  template <class... Modules>
    requires(sizeof...(Modules) > 0 &&
             !(std::is_same_v<std::decay_t<Modules>, ModuleListImpl> || ...))
  explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  void reset() override {}
  void pretty_print(std::ostream& stream) const override { stream << "taeda::nn::ModuleList"; }

  void push_back(Ptr module) { add_child(std::to_string(size()), std::move(module)); }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(Ptr(holder.ptr()));
  }
  template <class M>
    requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(M&& module) {
    push_back(Ptr(std::make_shared<std::decay_t<M>>(std::forward<M>(module))));
  }

  size_t size() const noexcept { return children_.size(); }
  bool is_empty() const noexcept { return children_.is_empty(); }
  Ptr ptr(size_t i) const {
    TAEDA_CHECK(i < size(), "Index out of range");
    return children_[i].value();
  }
  Ptr operator[](size_t i) const { return ptr(i); }
  template <class M>
  M& at(size_t i) const {
    M* found = ptr(i)->template as<M>();
    TAEDA_CHECK(found, "Unable to cast module[", i, "], which is ", ptr(i)->name());
    return *found;
  }
};
TAEDA_MODULE(ModuleList);

class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, Ptr>>& modules) {
    for (const auto& [name, module] : modules) insert(name, module);
  }
  void reset() override {}
  void pretty_print(std::ostream& stream) const override { stream << "taeda::nn::ModuleDict"; }

  void insert(std::string name, Ptr module) { add_child(std::move(name), std::move(module)); }
  Ptr operator[](const std::string& name) const { return children_[name]; }
  bool contains(const std::string& name) const noexcept { return children_.contains(name); }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<Ptr> values() const { return children_.values(); }
  size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  void clear() { children_.clear(); }
  Ptr pop(const std::string& name) {
    Ptr module = children_[name];
    children_.erase(name);
    return module;
  }
};
TAEDA_MODULE(ModuleDict);

// A function in the place of a module: Functional(taeda::relu), or a lambda of a tensor.
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  explicit FunctionalImpl(std::function<Tensor(Tensor)> function)
      : function_(std::move(function)) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override { stream << "taeda::nn::Functional()"; }
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  std::function<Tensor(Tensor)> function_;
};
TAEDA_MODULE(Functional);

}  // namespace taeda::nn
