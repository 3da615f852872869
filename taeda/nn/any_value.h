// A value of any type, as modules of any class take and return it (any_module.h).
#pragma once

#include <any>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "taeda/base/error.h"

namespace taeda::nn {

class AnyModule;

// The name of a type as source text: "int", "taeda::nn::LinearImpl".
TAEDA_API std::string type_text(const std::type_info& type);

class AnyValue {
 public:
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, AnyValue>)
  explicit AnyValue(T&& value) : value_(std::make_any<std::decay_t<T>>(std::forward<T>(value))) {}

  // A copy of the value; T is its type exactly, without const and references.
  template <class T>
  T get() {
    T* found = try_get<T>();
    TAEDA_CHECK(found, "Attempted to cast AnyValue to ", type_text(typeid(T)),
                ", but its actual type is ", type_text(type_info()));
    return *found;
  }
  // Null where the value has another type.
  template <class T>
  T* try_get() {
    return std::any_cast<T>(&value_);
  }
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace taeda::nn

// Inside a class whose `forward` has default arguments, so that a Sequential may leave them out:
// the place and the value of each, from the first to the last.
//
//   Tensor forward(const Tensor& x, int64_t times = 2, double scale = 3.0);
//   TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(int64_t(2))}, {2, AnyValue(3.0)})
#define TAEDA_FORWARD_HAS_DEFAULT_ARGS(...)                                                    \
  friend class ::taeda::nn::AnyModule;                                                         \
  static std::vector<std::pair<unsigned int, ::taeda::nn::AnyValue>> _forward_default_args() { \
    return {__VA_ARGS__};                                                                      \
  }
