// The order of a graph's nodes, and parts of it as graphs of their own.
#pragma once

#include "taeda/fx/graph.h"

namespace taeda::fx {

// Orders nodes so that each comes after its inputs, as little as possible apart from where they
// stood; throws naming a cycle.
TAEDA_API void sort_topologically(Graph& graph);
// Whether `node` uses `other`, directly or not.
TAEDA_API bool depends_on(const Node& node, const Node& other);

// A part of a graph as a graph of its own: values read from outside become its placeholders, values
// used outside (or nowhere) its results, in order.
struct Subgraph {
  IntrusivePtr<Graph> graph;
  std::vector<Node*> inputs, outputs;  // in the original graph
};
TAEDA_API Subgraph extract_subgraph(const Graph& graph, const std::vector<Node*>& nodes);

}  // namespace taeda::fx
