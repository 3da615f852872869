// The base of layers that hold options and no tensors, and the printed form of options.
#pragma once

#include <ostream>
#include <string_view>
#include <utility>

#include "taeda/nn/arg.h"
#include "taeda/nn/module_holder.h"

namespace taeda::nn {

template <class Derived, class Options>
class OptionModule : public Cloneable<Derived> {
 public:
  explicit OptionModule(Options options = {}) : options(std::move(options)) {}
  void reset() override {}

  Options options;
};

// Writes "taeda::nn::Name(first=1, second=true)".
template <class... Fields>
void print_layer(std::ostream& stream, std::string_view name,
                 const std::pair<const char*, Fields>&... fields) {
  stream << std::boolalpha << "taeda::nn::" << name << "(";
  [[maybe_unused]] const char* separator = "";
  ((stream << separator << fields.first << "=" << fields.second, separator = ", "), ...);
  stream << ")";
}

}  // namespace taeda::nn
