// Lowering: a closed graph as a program of definitions, reductions and calls.
#pragma once

#include <unordered_set>

#include "taeda/fx/interpreter.h"
#include "taeda/inductor/program.h"

namespace taeda::inductor {

// Nodes of the graph have fake tensors and symbolic numbers as their values (retrace leaves them
// so). Operators without a lowering become calls.
TAEDA_API std::unique_ptr<Program> lower(const fx::Graph& graph, fx::AttributeReader attributes);

// Nodes that results and effects depend on, and inputs: the others are not lowered.
std::unordered_set<const fx::Node*> needed_nodes(const fx::Graph& graph);

// The key of the metadata of nodes whose operator is called, whatever the compiler knows of it.
constexpr const char* kFallbackKey = "is_fallback";

// Whether an operator's elements are known to the compiler.
TAEDA_API bool has_lowering(const dispatch::Operator& op);
// Whether it is called though it has a decomposition, which is slower or has other bits.
bool stays_whole(const dispatch::Operator& op);
// Whether a call of the operator is what a plan wants, not for want of a lowering.
bool is_library(const dispatch::Operator& op);
// Computes an operator by others in place of it; false where it is not to be opened.
bool open_operator(const dispatch::Operator& op, dispatch::Stack& stack);

}  // namespace taeda::inductor
