// Common subexpressions: gives the number of nodes it removed.
#pragma once

#include "taeda/fx/graph.h"

namespace taeda::fx {

// Of equal pure calls on equal arguments the first stays. Nodes that may see a write in between are
// left alone: a graph that writes to tensors keeps its calls.
//
//   a = aten::relu(x)         a = aten::relu(x)
//   b = aten::relu(x)     ->  return aten::add(a, a)
//   return aten::add(a, b)
TAEDA_API size_t eliminate_common_subexpressions(Graph& graph);

}  // namespace taeda::fx
