// Calls that take graphs: cond, the loops and the scans, and scopes of grad mode and autocast.
#pragma once

#include "taeda/fx/builtins.h"
#include "taeda/fx/interpreter.h"

namespace taeda::fx {

// A region of a prepared graph as an argument of its call.
class RegionValue final : public Opaque {
 public:
  explicit RegionValue(const Graph& graph) : plan(graph) {}
  bool equals(const Opaque& other) const override { return this == &other; }
  size_t hash() const override { return std::hash<const void*>()(this); }
  std::string text() const override { return "region"; }
  const Plan plan;
};

// Built-in functions under the names of taeda.ops.higher_order.
TAEDA_API Span<Builtin> region_builtins();

}  // namespace taeda::fx
