// A module of any class behind one type, for Sequential: called with any arguments, it checks their
// types against those of the class's `forward`.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <vector>

#include "taeda/nn/module_holder.h"

namespace taeda::nn {

class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
    requires std::is_base_of_v<Module, M>
  explicit AnyModule(std::shared_ptr<M> module)
      : module_(module), call_([module](std::vector<std::any>& args) {
          return called(*module, &M::forward, args);
        }) {}
  template <class M>
    requires std::is_base_of_v<Module, M>
  explicit AnyModule(M&& module)
      : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}

  bool is_empty() const noexcept { return module_ == nullptr; }
  const std::shared_ptr<Module>& ptr() const { return module_; }
  template <class M>
  M& get() const {
    M* found = module_ ? dynamic_cast<M*>(module_.get()) : nullptr;
    TAEDA_CHECK(found, "Attempted to cast module of type ", type_name(), " to another type");
    return *found;
  }

  template <class Result = Tensor, class... Args>
  Result forward(Args&&... args) {
    std::vector<std::any> values;
    (values.emplace_back(std::forward<Args>(args)), ...);
    return taken<Result>(call(values));
  }
  // The result as `forward` gave it, for the next module.
  std::any call(std::vector<std::any>& args) {
    TAEDA_CHECK(!is_empty(), "Cannot call forward() on an empty AnyModule");
    return call_(args);
  }

  template <class Result>
  static Result taken(std::any value) {
    auto* found = std::any_cast<Result>(&value);
    TAEDA_CHECK(found, "The type of the return value is ", value.type().name(),
                ", but you asked for type ", typeid(Result).name());
    return std::move(*found);
  }

 private:
  std::string type_name() const { return module_ ? module_->name() : "nothing"; }

  // The parameters of `forward`, const or not.
  template <class Base, class Result, class... Params>
  static std::tuple<Params...>* parameters_of(Result (Base::*)(Params...)) {
    return nullptr;
  }
  template <class Base, class Result, class... Params>
  static std::tuple<Params...>* parameters_of(Result (Base::*)(Params...) const) {
    return nullptr;
  }

  template <class M, class Forward>
  static std::any called(M& module, Forward forward, std::vector<std::any>& args) {
    return called(module, forward, args, parameters_of(forward));
  }
  template <class M, class Forward, class... Params>
  static std::any called(M& module, Forward forward, std::vector<std::any>& args,
                         std::tuple<Params...>*) {
    TAEDA_CHECK(args.size() == sizeof...(Params), module.name(), "'s forward() method expects ",
                sizeof...(Params), " argument(s), but received ", args.size());
    return [&]<size_t... I>(std::index_sequence<I...>) -> std::any {
      return (module.*forward)(argument<Params>(args[I], I)...);
    }(std::index_sequence_for<Params...>());
  }
  template <class Param>
  static std::decay_t<Param>& argument(std::any& value, size_t i) {
    auto* found = std::any_cast<std::decay_t<Param>>(&value);
    TAEDA_CHECK(found, "Expected argument #", i, " to be of type ",
                typeid(std::decay_t<Param>).name(), ", but received value of type ",
                value.type().name());
    return *found;
  }

  std::shared_ptr<Module> module_;
  std::function<std::any(std::vector<std::any>&)> call_;
};

}  // namespace taeda::nn
