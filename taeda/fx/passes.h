// Passes every producer and consumer of graphs shares. Each gives the number of nodes it removed.
#pragma once

#include "taeda/fx/graph.h"

namespace taeda::fx {

// Removes nodes without users that have no effect, last first.
//
//   a = aten::relu(x)         b = aten::neg(x)
//   b = aten::neg(x)      ->  return b
//   return b
TAEDA_API size_t eliminate_dead_code(Graph& graph);
// With the caller's own notion of what must stay.
TAEDA_API size_t eliminate_dead_code(Graph& graph, FunctionRef<bool(Node&)> is_impure);

// Of equal pure calls on equal arguments the first stays. Nodes that may see a write in between are
// left alone: a graph that writes to tensors keeps its calls.
//
//   a = aten::relu(x)         a = aten::relu(x)
//   b = aten::relu(x)     ->  return aten::add(a, a)
//   return aten::add(a, b)
TAEDA_API size_t eliminate_common_subexpressions(Graph& graph);

// Orders nodes so that each comes after its inputs, as little as possible apart from where they
// stood; throws naming a cycle.
TAEDA_API void sort_topologically(Graph& graph);
// Whether `node` uses `other`, directly or not.
TAEDA_API bool depends_on(const Node& node, const Node& other);

// A part of a graph as a graph of its own: what it reads from outside are its placeholders, what is
// used outside (or by nobody) its results, in order.
struct Subgraph {
  IntrusivePtr<Graph> graph;
  std::vector<Node*> inputs, outputs;  // in the original graph
};
TAEDA_API Subgraph extract_subgraph(const Graph& graph, const std::vector<Node*>& nodes);

}  // namespace taeda::fx
