// Regions: closed graphs as arguments of calls, the one form in which programs carry functions.
//
// A region takes its operands one by one and returns a tuple; it refers to nothing outside. Control
// flow (control_flow/operators.h) and scopes of grad mode and autocast take regions. Where nothing
// is recorded a function of another language may stand in the place of a region.
#pragma once

#include <functional>
#include <optional>

#include "taeda/fx/builtins.h"
#include "taeda/fx/interpreter.h"

namespace taeda::fx {

using Values = std::vector<Value>;

// A region as a value on a stack.
class TAEDA_API RegionValue final : public Opaque {
 public:
  using Function = std::function<Values(Values operands)>;

  explicit RegionValue(IntrusivePtr<Graph> graph) : graph_(std::move(graph)), plan_(*graph_) {}
  // What another language has: `host` stands for the region there, and `function` runs a graph with
  // calls of that language in it. Without a graph it is an open function, which may refer to what
  // is around it.
  RegionValue(IntrusivePtr<Graph> graph, Function function, IntrusivePtr<Opaque> host);
  // A graph that was compiled: `function` gives what it gives.
  RegionValue(IntrusivePtr<Graph> graph, Function function)
      : graph_(std::move(graph)), function_(std::move(function)) {}
  bool equals(const Opaque& other) const override { return this == &other; }
  size_t hash() const override { return std::hash<const void*>()(this); }
  std::string text() const override { return "region"; }

  // Null for an open function.
  const IntrusivePtr<Graph>& graph() const { return graph_; }
  const IntrusivePtr<Opaque>& host() const { return host_; }
  // Of a function on two slices for each of its elements: it takes batches of slices as they are.
  bool takes_batches = false;
  // The results on these operands.
  Values operator()(Values operands) const;

 private:
  IntrusivePtr<Graph> graph_;
  std::optional<Plan> plan_;
  Function function_;
  IntrusivePtr<Opaque> host_;
};

// Null for other values.
TAEDA_API const RegionValue* find_region(const Value& v);
// TypeError for other values.
TAEDA_API const RegionValue& region(const Value& v);
TAEDA_API Value region_value(IntrusivePtr<Graph> graph);

// The elements of a list of values or tensors, none of None, and a single value.
TAEDA_API Values items(const Value& v);
inline Value list(Values values) { return std::make_shared<Value::List>(std::move(values)); }
TAEDA_API Values joined(Values a, const Values& b);
bool truth(const Value& v);

// Scopes: built-in functions under the names of taeda.ops.higher_order.
TAEDA_API Span<Builtin> scope_builtins();

// Until the end of this object's life scopes of grad mode that run on this thread are shown to a
// handler, which gives their results, or nothing: then they run. Null: to none.
class TAEDA_API TakeGradScopes {
 public:
  using Handler =
      FunctionRef<std::optional<Values>(bool is_enabled, const RegionValue&, const Values&)>;
  explicit TakeGradScopes(const Handler* handler);
  ~TakeGradScopes();
  TakeGradScopes(const TakeGradScopes&) = delete;

 private:
  const Handler* outer_;
};

}  // namespace taeda::fx
