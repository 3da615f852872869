// Modules by value: `nn::Linear` holds a shared pointer to `nn::LinearImpl` and behaves as both.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "taeda/nn/module.h"

namespace taeda::nn {

// A module that copies itself: `reset` makes its tensors and submodules anew, `clone` then copies.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  virtual void reset() = 0;

  Ptr clone(const std::optional<Device>& device = std::nullopt) const override;
};

template <class Contained_>
class ModuleHolder {
 public:
  using ContainedType = Contained_;

  ModuleHolder() : impl_(make_default()) {}
  // `Linear linear(nullptr)` holds nothing yet.
  ModuleHolder(std::nullptr_t) {}  // NOLINT: as PyTorch's
  ModuleHolder(std::shared_ptr<Contained_> module) : impl_(std::move(module)) {}  // NOLINT
  template <class Head, class... Tail,
            class = std::enable_if_t<!(std::is_base_of_v<ModuleHolder, std::decay_t<Head>> &&
                                       sizeof...(Tail) == 0) &&
                                     std::is_constructible_v<Contained_, Head, Tail...>>>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained_>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {
  }

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained_* operator->() { return get(); }
  const Contained_* operator->() const { return get(); }
  Contained_& operator*() { return *get(); }
  const Contained_& operator*() const { return *get(); }
  const std::shared_ptr<Contained_>& ptr() const {
    TAEDA_CHECK(!is_empty(), "Accessing empty ModuleHolder");
    return impl_;
  }
  Contained_* get() const { return ptr().get(); }

  template <class... Args>
  auto operator()(Args&&... args) {
    return get()->forward(std::forward<Args>(args)...);
  }
  // Of containers: sequential[0], dict["name"].
  template <class Place>
  decltype(auto) operator[](Place&& place) {
    return (*get())[std::forward<Place>(place)];
  }

 private:
  static std::shared_ptr<Contained_> make_default() {
    if constexpr (std::is_default_constructible_v<Contained_>) {
      return std::make_shared<Contained_>();
    } else {
      return nullptr;
    }
  }
  std::shared_ptr<Contained_> impl_;
};

template <class M>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<M>& module) {
  return stream << *module;
}

template <class Derived>
Module::Ptr Cloneable<Derived>::clone(const std::optional<Device>& device) const {
  const auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
  copy->parameters_.clear();
  copy->buffers_.clear();
  copy->children_.clear();
  copy->reset();
  copy->take_tensors(*this, device);
  return copy;
}

}  // namespace taeda::nn

// Declares the holder `Name` of the class `NameImpl`.
#define TAEDA_MODULE(Name)                                                 \
  class Name : public ::taeda::nn::ModuleHolder<Name##Impl> { /* NOLINT */ \
   public:                                                                 \
    using ::taeda::nn::ModuleHolder<Name##Impl>::ModuleHolder;             \
    using Impl = Name##Impl;                                               \
  }
