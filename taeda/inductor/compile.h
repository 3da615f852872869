// The compiler: a closed graph of fake values becomes a plan that runs.
//
//   auto compiled = inductor::compile(graph);
//   std::vector<Value> results = compiled->run(inputs);
#pragma once

#include "taeda/fx/interpreter.h"
#include "taeda/inductor/plan.h"

namespace taeda::inductor {

// The graph is functional: nothing in it writes to its operands. Nodes carry fake values; sizes may
// be symbolic, and the plan then serves all of them.
TAEDA_API std::shared_ptr<CompiledGraph> compile(const fx::Graph& graph,
                                                 fx::AttributeReader attributes,
                                                 const PlanOptions& options = {});
TAEDA_API std::shared_ptr<CompiledGraph> compile(const fx::Graph& graph);

// A `decompose` of fx::RetraceOptions: stops at operators that have a lowering, and at the core.
TAEDA_API bool decompose_for_lowering(dispatch::Operator& op, dispatch::Stack& stack);

}  // namespace taeda::inductor
