// Dead code: gives the number of nodes it removed.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/fx/graph.h"

namespace taeda::fx {

// Removes nodes without users that have no effect, last first.
//
//   a = aten::relu(x)         b = aten::neg(x)
//   b = aten::neg(x)      ->  return b
//   return b
TAEDA_API size_t eliminate_dead_code(Graph& graph);
// With the caller's own rule for nodes that must stay.
TAEDA_API size_t eliminate_dead_code(Graph& graph, FunctionRef<bool(Node&)> is_impure);

}  // namespace taeda::fx
