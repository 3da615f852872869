// Modules that hold modules: Sequential calls them in order, ModuleList and ModuleDict only hold.
#pragma once

#include <algorithm>
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
  using ConstIterator = std::vector<AnyModule>::const_iterator;

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
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
    for (auto& item : modules) push_back(item.key(), std::move(item.value()));
  }

  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override {
    const auto copy = std::make_shared<SequentialImpl>();
    for (size_t i = 0; i < size(); ++i) {
      copy->push_back(children_[i].key(), modules_[i].clone(device));
    }
    return copy;
  }
  void pretty_print(std::ostream& stream) const override {
    stream << layer_namespace() << "Sequential";
  }

  template <class Result = Tensor, class... Inputs>
  Result forward(Inputs&&... inputs) {
    std::vector<AnyValue> values;
    (values.emplace_back(std::forward<Inputs>(inputs)), ...);
    AnyValue result = forward_values(values);
    Result* found = result.template try_get<Result>();
    TAEDA_CHECK(found, "The type of the return value is ", type_text(result.type_info()),
                ", but you asked for type ", type_text(typeid(Result)));
    return std::move(*found);
  }
  // The last module's result as it is, by which one Sequential stands in another.
  AnyValue forward_values(std::vector<AnyValue>& values) {
    TAEDA_CHECK(!modules_.empty(), "Cannot call forward() on an empty Sequential");
    for (AnyModule& module : modules_) {
      AnyValue result = module.call(values);
      values.clear();
      values.push_back(std::move(result));
    }
    return std::move(values.front());
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
  void push_back(const NamedAnyModule& named) { push_back(named.name(), named.module()); }
  template <class Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  const Ptr& ptr(size_t i) const {
    TAEDA_CHECK(i < size(), "Index out of range");
    return modules_[i].ptr();
  }
  template <class M>
  std::shared_ptr<M> ptr(size_t i) const {
    TAEDA_CHECK(i < size(), "Index out of range");
    return modules_[i].ptr<M>();
  }
  const Ptr& operator[](size_t i) const { return ptr(i); }
  template <class M>
  M& at(size_t i) const {
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
  using Iterator = std::vector<Ptr>::iterator;
  using ConstIterator = std::vector<Ptr>::const_iterator;

  ModuleListImpl() = default;
  template <class... Modules>
    requires(sizeof...(Modules) > 0 &&
             !(std::is_same_v<std::decay_t<Modules>, ModuleListImpl> || ...))
  explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override {
    const auto copy = std::make_shared<ModuleListImpl>();
    for (const Ptr& module : modules_) copy->push_back(module->clone(device));
    return copy;
  }
  void pretty_print(std::ostream& stream) const override {
    stream << layer_namespace() << "ModuleList";
  }

  void push_back(Ptr module) {
    add_child(std::to_string(size()), module);
    modules_.push_back(std::move(module));
  }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(Ptr(holder.ptr()));
  }
  template <class M>
    requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(M&& module) {
    push_back(Ptr(std::make_shared<std::decay_t<M>>(std::forward<M>(module))));
  }
  // At a place from 0 to size(); the names of those behind it count on.
  void insert(size_t i, Ptr module) {
    TAEDA_CHECK(i <= size(), "Index out of range");
    modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(i), std::move(module));
    children_.clear();
    for (size_t place = 0; place < size(); ++place) {
      add_child(std::to_string(place), modules_[place]);
    }
  }
  template <class M>
  void insert(size_t i, const ModuleHolder<M>& holder) {
    insert(i, Ptr(holder.ptr()));
  }
  template <class Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }

  Iterator begin() { return modules_.begin(); }
  ConstIterator begin() const { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  Ptr ptr(size_t i) const {
    TAEDA_CHECK(i < size(), "Index out of range");
    return modules_[i];
  }
  template <class M>
  std::shared_ptr<M> ptr(size_t i) const {
    return std::dynamic_pointer_cast<M>(ptr(i));
  }
  Ptr operator[](size_t i) const { return ptr(i); }
  template <class M>
  M& at(size_t i) const {
    M* found = ptr(i)->template as<M>();
    TAEDA_CHECK(found, "Unable to cast module[", i, "], which is ", ptr(i)->name());
    return *found;
  }

 private:
  std::vector<Ptr> modules_;
};
TAEDA_MODULE(ModuleList);

class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Item = OrderedDict<std::string, Ptr>::Item;
  using Iterator = OrderedDict<std::string, Ptr>::Iterator;
  using ConstIterator = OrderedDict<std::string, Ptr>::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, Ptr>>& modules) {
    update(modules);
  }
  explicit ModuleDictImpl(const OrderedDict<std::string, Ptr>& modules) { update(modules.pairs()); }
  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override {
    const auto copy = std::make_shared<ModuleDictImpl>();
    for (const Item& item : children_) copy->insert(item.key(), item.value()->clone(device));
    return copy;
  }
  void pretty_print(std::ostream& stream) const override {
    stream << layer_namespace() << "ModuleDict";
  }

  void insert(std::string name, Ptr module) { add_child(std::move(name), std::move(module)); }
  // Modules of names that are there take the place of those.
  void update(const std::vector<std::pair<std::string, Ptr>>& modules) {
    for (const auto& [name, module] : modules) put(name, module);
  }
  // Those of a ModuleDict or of an OrderedDict.
  template <class Dict>
    requires requires(const Dict& dict) { dict.begin()->key(); }
  void update(const Dict& modules) {
    for (const auto& item : modules) put(item.key(), item.value());
  }
  Iterator begin() { return children_.begin(); }
  ConstIterator begin() const { return children_.begin(); }
  Iterator end() { return children_.end(); }
  ConstIterator end() const { return children_.end(); }
  Ptr operator[](const std::string& name) const { return children_[name]; }
  template <class M>
  M& at(const std::string& name) const {
    M* found = children_[name]->as<M>();
    TAEDA_CHECK(found, "Unable to cast module[", name, "], which is ", children_[name]->name());
    return *found;
  }
  bool contains(const std::string& name) const noexcept { return children_.contains(name); }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<Ptr> values() const { return children_.values(); }
  std::vector<std::pair<std::string, Ptr>> items() const { return children_.pairs(); }
  size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  void clear() { children_.clear(); }
  Ptr pop(const std::string& name) {
    Ptr module = children_[name];
    children_.erase(name);
    return module;
  }

 private:
  void put(const std::string& name, const Ptr& module) {
    if (contains(name)) {
      replace_module(name, module);
    } else {
      insert(name, module);
    }
  }
};
TAEDA_MODULE(ModuleDict);

// Tensors as parameters, by number.
class TAEDA_API ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Item = OrderedDict<std::string, Tensor>::Item;
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <class... Tensors>
    requires(sizeof...(Tensors) > 0 && (std::is_convertible_v<Tensors, Tensor> && ...))
  explicit ParameterListImpl(Tensors&&... tensors) {
    (append(std::forward<Tensors>(tensors)), ...);
  }
  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

  void append(const Tensor& tensor) {
    register_parameter(std::to_string(size()), tensor, tensor.requires_grad());
  }
  template <class Container>
  void extend(const Container& tensors) {
    for (const auto& element : tensors) {
      if constexpr (requires { element.value(); }) {
        append(element.value());  // of another list or dict of parameters
      } else {
        append(element);
      }
    }
  }
  ParameterListImpl& operator+=(const ParameterListImpl& other) {
    extend(other);
    return *this;
  }
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }
  Tensor& at(size_t i) {
    TAEDA_CHECK(i < size(), "Index out of range");
    return parameters_[i].value();
  }
  const Tensor& at(size_t i) const { return const_cast<ParameterListImpl*>(this)->at(i); }
  Tensor& operator[](size_t i) { return at(i); }
  const Tensor& operator[](size_t i) const { return at(i); }
};
TAEDA_MODULE(ParameterList);

// Tensors as parameters, by name.
class TAEDA_API ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  using Item = OrderedDict<std::string, Tensor>::Item;
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& tensors) {
    for (const Item& item : tensors) insert(item.key(), item.value());
  }
  void reset() override {}
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

  Tensor& insert(std::string name, const Tensor& tensor) {
    return register_parameter(std::move(name), tensor, tensor.requires_grad());
  }
  // Tensors of names that are there take the place of those.
  template <class Dict>
  void update(const Dict& tensors) {
    for (const auto& item : tensors) {
      if (contains(item.key())) {
        parameters_[item.key()] = item.value();
      } else {
        insert(item.key(), item.value());
      }
    }
  }
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<Tensor> values() const { return parameters_.values(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }
  bool contains(const std::string& name) const noexcept { return parameters_.contains(name); }
  Tensor& get(const std::string& name) { return parameters_[name]; }
  const Tensor& get(const std::string& name) const { return parameters_[name]; }
  Tensor& operator[](const std::string& name) { return parameters_[name]; }
  void clear() { parameters_.clear(); }
  Tensor pop(const std::string& name) {
    Tensor tensor = parameters_[name];
    parameters_.erase(name);
    return tensor;
  }
};
TAEDA_MODULE(ParameterDict);

// A function in the place of a module: Functional(taeda::relu), or a lambda of a tensor. Arguments
// after the tensor may be bound: Functional(taeda::elu, 1, 0, 1).
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;

  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  template <class Called, class... Args>
    requires(sizeof...(Args) > 0)
  explicit FunctionalImpl(Called called, Args... args)
      : function_([called = std::move(called), args...](Tensor input) {
          return called(input, args...);
        }) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override {
    stream << layer_namespace() << "Functional()";
  }
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  Tensor operator()(Tensor input) { return forward(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
TAEDA_MODULE(Functional);

}  // namespace taeda::nn
