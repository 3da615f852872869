// The bases of layers: options, the function that a layer calls with them, and its printed form.
#pragma once

#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "taeda/nn/any_value.h"
#include "taeda/nn/arg.h"
#include "taeda/nn/enum.h"
#include "taeda/nn/expanding_array.h"
#include "taeda/nn/module_holder.h"

namespace taeda::nn {

// A part of a layer's printed form: name=value, or the value alone where the name is empty.
template <class T>
struct Field {
  const char* name;
  T value;
  bool is_shown = true;
};
template <class T>
Field(const char*, T) -> Field<T>;
template <class T>
Field(const char*, T, bool) -> Field<T>;

// A list that is printed as {2, 3}, others are [2, 3].
struct Braced {
  std::vector<int64_t> values;
};

inline void print_list(std::ostream& stream, const auto& values, const char* ends) {
  stream << ends[0];
  const char* separator = "";
  for (const auto& value : values) {
    stream << separator << value;
    separator = ", ";
  }
  stream << ends[1];
}

template <class T>
void print_value(std::ostream& stream, const T& value) {
  if constexpr (requires { T::text; }) {
    stream << "k" << T::text;  // a choice
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    std::visit([&](const auto& held) { print_value(stream, held); }, value);
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                       std::is_same_v<T, std::vector<double>>) {
    print_list(stream, value, "[]");
  } else if constexpr (std::is_same_v<T, Braced>) {
    print_list(stream, value.values, "{}");
  } else {
    stream << value;
  }
}

// "taeda::nn::Linear", of a module of the class LinearImpl.
TAEDA_API std::string layer_name(const Module& layer);

// Writes "taeda::nn::Name(first=1, second=true)".
template <class... T>
void print_layer(std::ostream& stream, const Module& layer, const Field<T>&... fields) {
  const std::ios_base::fmtflags flags = stream.flags();
  stream << std::boolalpha << layer_name(layer) << "(";
  [[maybe_unused]] const char* separator = "";
  [[maybe_unused]] const auto print = [&](const auto& field) {
    if (!field.is_shown) return;
    stream << separator << field.name << (*field.name ? "=" : "");
    print_value(stream, field.value);
    separator = ", ";
  };
  (print(fields), ...);
  stream << ")";
  stream.flags(flags);
}

struct NoOptions {};

// A layer with options, made of them or of what they are made of. Options that print their fields
// have a function `fields`.
template <class Derived, class Options>
class OptionModule : public Cloneable<Derived> {
 public:
  template <class... Args>
    requires std::is_constructible_v<Options, Args...>
  explicit OptionModule(Args&&... args) : options(std::forward<Args>(args)...) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override {
    if constexpr (requires(const Options& o) { o.fields(); }) {
      std::apply([&](const auto&... fields) { print_layer(stream, *this, fields...); },
                 options.fields());
    } else {
      print_layer(stream, *this);
    }
  }

  Options options;
};

// A layer without tensors: forward(inputs...) is function(inputs..., options).
template <class Derived, class Options, auto function, class... Inputs>
class FunctionLayer : public OptionModule<Derived, Options> {
 public:
  using OptionModule<Derived, Options>::OptionModule;
  auto forward(Inputs... inputs) {
    if constexpr (std::is_same_v<Options, NoOptions>) {
      return function(std::forward<Inputs>(inputs)...);
    } else {
      return function(std::forward<Inputs>(inputs)..., this->options);
    }
  }
};

}  // namespace taeda::nn
