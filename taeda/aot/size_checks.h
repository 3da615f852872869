// What a trace found out about the sizes of its inputs, checked at later calls.
#pragma once

#include "taeda/fx/fake.h"
#include "taeda/fx/graph.h"

namespace taeda::aot {

// A program with symbols for sizes is traced for those of its examples: a branch on a size, or
// sizes that must be equal, become guards of the shape environment. Bounds that all symbols have
// (at least 2) are none of them.
class SizeChecks {
 public:
  SizeChecks() = default;  // checks nothing
  // Of the values that the placeholders of a traced graph stand for, those of its inputs.
  explicit SizeChecks(const std::vector<dispatch::Value>& inputs);
  // RuntimeError for inputs that the trace does not serve.
  void operator()(const std::vector<dispatch::Value>& inputs) const;
  bool hold(const std::vector<dispatch::Value>& inputs) const { return !failure(inputs); }

 private:
  // The first guard that these do not keep, by its number.
  std::optional<size_t> failure(const std::vector<dispatch::Value>& inputs) const;
  void take_guards(std::vector<fx::GuardInput> numbers);

  struct Place {
    size_t input;
    int64_t dim;  // -1: the input is the number
  };
  IntrusivePtr<fx::ShapeEnv> env_;  // has the expressions
  fx::GuardSet guards_;
  std::vector<Place> places_;
  std::vector<int64_t> ranks_;  // by input; -1 for what is no tensor
};

}  // namespace taeda::aot
