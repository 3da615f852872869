// Programs for the sizes that symbols do not stand for.
//
// Note [Small sizes]: a symbol of a trace is a size of 2 or more, since a program may be another
// one where a dimension is empty or broadcasts. A graph that is given a 0 or a 1 where it was
// traced with a symbol is traced and compiled again, with that size as a constant and with symbols
// for the others, once for all inputs that have small sizes in the same places.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "taeda/fx/fake.h"

namespace taeda::aot {

class CompiledFunction;

class SmallSizes {
 public:
  // Compiles for fakes like the inputs.
  using Compile =
      std::function<std::shared_ptr<CompiledFunction>(const std::vector<dispatch::Value>& fakes)>;
  // `traced`: the values of the graph's inputs, with what the compiler was told of gradients.
  SmallSizes(const std::vector<dispatch::Value>& traced, Compile compile);
  // The program for these inputs; null where the one that was traced serves them.
  std::shared_ptr<CompiledFunction> of(const std::vector<dispatch::Value>& inputs);

 private:
  struct Place {
    size_t input;
    int64_t dim;  // -1: the input is the number
    int64_t least;
  };
  std::vector<int64_t> small_sizes(const std::vector<dispatch::Value>& inputs) const;
  std::vector<dispatch::Value> fakes(const std::vector<dispatch::Value>& inputs) const;

  std::vector<Place> places_;
  std::vector<bool> needs_gradient_;  // by input
  IntrusivePtr<fx::FakeMode> mode_;   // of the trace
  Compile compile_;
  struct Version {
    std::vector<int64_t> sizes;  // by place, -1 where the size is none of the small ones
    std::shared_ptr<CompiledFunction> function;
  };
  std::mutex mutex_;
  std::vector<Version> versions_;
};

}  // namespace taeda::aot
