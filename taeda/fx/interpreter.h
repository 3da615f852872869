// Runs closed graphs with no other language in the process.
#pragma once

#include "taeda/fx/graph.h"

namespace taeda::fx {

// Gives the value of an attribute by its qualified name; throws for names it does not know.
using AttributeReader = FunctionRef<Value(const std::string& name)>;

// A closed graph prepared for many runs: arguments are bound to schemas once, values are dropped
// after their last use. The graph may change or go afterwards. One plan may run on several threads.
class TAEDA_API Plan {
 public:
  explicit Plan(const Graph& graph);
  // `regions`: the values that stand for regions in calls (regions.h), instead of interpreted ones.
  using RegionMaker = FunctionRef<Value(const IntrusivePtr<Graph>& region)>;
  Plan(const Graph& graph, RegionMaker regions);
  ~Plan();
  Plan(Plan&&) noexcept;

  size_t num_inputs() const;
  // The result as the output node has it: one value, or a list for tuples and lists.
  Value run(std::vector<Value> inputs, AttributeReader attributes) const;
  // For graphs without attributes.
  Value run(std::vector<Value> inputs) const;

  struct Parts;

 private:
  std::unique_ptr<Parts> parts_;
};

// Until the end of the scope plans that run on this thread, those of regions too, show each node
// before it runs. Their graphs must be alive.
class TAEDA_API WatchSteps {
 public:
  using Watcher = FunctionRef<void(const Node& node)>;
  explicit WatchSteps(Watcher watcher);
  ~WatchSteps();
  WatchSteps(const WatchSteps&) = delete;

 private:
  Watcher watcher_;
  const Watcher* outer_;
};

// The tensors of a result, nested lists flattened.
TAEDA_API std::vector<Tensor> flatten_tensors(const Value& result);

}  // namespace taeda::fx
