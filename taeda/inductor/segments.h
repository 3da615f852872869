// Graphs that are no single plan.
//
// Note [Segments]: a plan knows all its sizes when it starts. An operator whose result has a size
// that only data tells (nonzero), that gives a number (item) or that runs regions (cond) runs by
// itself, as in eager; what lies between such operators are plans. Sizes that appear on the way are
// inputs of the plans behind. Regions are graphs like others: each is compiled, and the operator
// calls its plans.
//
//   a = x * 2         plan(x) -> a
//   n = nonzero(a)    apart
//   b = n + 1         plan(n, u0) -> b
#pragma once

#include "taeda/fx/compiler.h"
#include "taeda/inductor/plan.h"

namespace taeda::inductor {

// A compiled graph: its plans, and the function that runs them in order.
struct Segments {
  std::vector<std::shared_ptr<CompiledGraph>> plans;  // of regions, too
  std::vector<std::string> apart;                     // operators that run by themselves
  fx::CompiledFn run;
};

// Whether the inputs tell each symbol that they mention, by a number such as s0 or 2*s0 + 1.
bool tells_symbols(const fx::Graph& graph);

TAEDA_API Segments compile_segments(const fx::Graph& graph, fx::AttributeReader attributes,
                                    const PlanOptions& options = {});

}  // namespace taeda::inductor
