// A module of any class behind one type, for Sequential: called with any arguments, it checks their
// types against those of the class's `forward`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "taeda/nn/any_value.h"
#include "taeda/nn/module_holder.h"

namespace taeda::nn {

class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
    requires std::is_base_of_v<Module, M>
  explicit AnyModule(std::shared_ptr<M> module)
      : module_(module),
        call_([module](std::vector<AnyValue>& args) {
          // A module that passes on any values, as Sequential does, has no one type of `forward`.
          if constexpr (requires { module->forward_values(args); })
            return module->forward_values(args);
          else
            return called(*module, &M::forward, args);
        }),
        clone_([](const Module& original, const std::optional<Device>& device) {
          return AnyModule(std::dynamic_pointer_cast<M>(original.clone(device)));
        }) {}
  template <class M>
    requires std::is_base_of_v<Module, std::decay_t<M>>
  explicit AnyModule(M&& module)
      : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  template <class M>
    requires std::is_base_of_v<Module, M>
  AnyModule& operator=(std::shared_ptr<M> module) {
    return *this = AnyModule(std::move(module));
  }

  // A module of the same class with tensors of its own.
  AnyModule clone(const std::optional<Device>& device = std::nullopt) const {
    return is_empty() ? AnyModule() : clone_(*module_, device);
  }
  bool is_empty() const noexcept { return module_ == nullptr; }

  const std::shared_ptr<Module>& ptr() const { return held("ptr"); }
  // The module as its class.
  template <class M>
  std::shared_ptr<M> ptr() const {
    return cast<M>(held("ptr"));
  }
  template <class M>
    requires std::is_base_of_v<Module, M>
  M& get() const {
    return *cast<M>(held("get"));
  }
  // The same in its holder: get<Linear>().
  template <class Holder>
    requires requires { typename Holder::ContainedType; }
  Holder get() const {
    return Holder(cast<typename Holder::ContainedType>(held("get")));
  }
  const std::type_info& type_info() const {
    const Module& module = *held("type_info");
    return typeid(module);
  }

  template <class Result = Tensor, class... Args>
  Result forward(Args&&... args) {
    return any_forward(std::forward<Args>(args)...).template get<Result>();
  }
  template <class... Args>
  Tensor operator()(Args&&... args) {
    return forward(std::forward<Args>(args)...);
  }
  // The result as `forward` gave it, for the next module.
  template <class... Args>
  AnyValue any_forward(Args&&... args) {
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.emplace_back(std::forward<Args>(args)), ...);
    return call(values);
  }
  AnyValue call(std::vector<AnyValue>& args) {
    held("forward");
    return call_(args);
  }

 private:
  const std::shared_ptr<Module>& held(const char* function) const {
    TAEDA_CHECK(!is_empty(), "Cannot call ", function, "() on an empty AnyModule");
    return module_;
  }
  template <class M>
  std::shared_ptr<M> cast(const std::shared_ptr<Module>& module) const {
    std::shared_ptr<M> found = std::dynamic_pointer_cast<M>(module);
    TAEDA_CHECK(found, "Attempted to cast module of type ", type_text(type_info()), " to type ",
                type_text(typeid(M)));
    return found;
  }

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
  static AnyValue called(M& module, Forward forward, std::vector<AnyValue>& args) {
    return called(module, forward, args, parameters_of(forward));
  }
  template <class M, class Forward, class... Params>
  static AnyValue called(M& module, Forward forward, std::vector<AnyValue>& args,
                         std::tuple<Params...>*) {
    add_defaults(module, args, sizeof...(Params));
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return AnyValue((module.*forward)(argument<Params>(args[I], I)...));
    }(std::index_sequence_for<Params...>());
  }
  // Appends the values of arguments that were left out, see TAEDA_FORWARD_HAS_DEFAULT_ARGS.
  template <class M>
  static void add_defaults(M& module, std::vector<AnyValue>& args, size_t count) {
    const size_t given = args.size();
    if constexpr (requires { M::_forward_default_args(); }) {
      auto defaults = M::_forward_default_args();
      TAEDA_CHECK(given >= defaults.front().first && given <= count, module.name(),
                  "'s forward() method expects at least ", defaults.front().first,
                  " argument(s) and at most ", count, " argument(s), but received ", given, ".");
      for (auto& [place, value] : defaults) {
        if (place >= given) args.push_back(std::move(value));
      }
    } else {
      TAEDA_CHECK(given <= count, module.name(), "'s forward() method expects ", count,
                  " argument(s), but received ", given, ".");
      TAEDA_CHECK(given == count, module.name(), "'s forward() method expects ", count,
                  " argument(s), but received ", given, ". If ", module.name(),
                  "'s forward() method has default arguments, please make sure the forward() "
                  "method is declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro.");
    }
  }
  // What is passed for a parameter: moved where `forward` takes it by an rvalue reference.
  template <class Param>
  static auto&& argument(AnyValue& value, size_t i) {
    using T = std::decay_t<Param>;
    T* found = value.try_get<T>();
    TAEDA_CHECK(found, "Expected argument #", i, " to be of type ", type_text(typeid(T)),
                ", but received value of type ", type_text(value.type_info()));
    if constexpr (std::is_rvalue_reference_v<Param>) {
      return std::move(*found);
    } else {
      return *found;
    }
  }

  std::shared_ptr<Module> module_;
  std::function<AnyValue(std::vector<AnyValue>&)> call_;
  std::function<AnyModule(const Module&, const std::optional<Device>&)> clone_;
};

}  // namespace taeda::nn
