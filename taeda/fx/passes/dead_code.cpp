// Dead-code elimination.
#include "taeda/fx/passes/dead_code.h"

namespace taeda::fx {

size_t eliminate_dead_code(Graph& graph, FunctionRef<bool(Node&)> is_impure) {
  size_t removed = 0;
  for (Node* n = graph.last(); n != graph.end_node();) {
    Node* before = n->prev();
    if (n->users().empty() && !is_impure(*n)) {
      graph.erase(*n);
      ++removed;
    }
    n = before;
  }
  return removed;
}

size_t eliminate_dead_code(Graph& graph) {
  return eliminate_dead_code(graph, [](Node& n) { return n.is_impure(); });
}

}  // namespace taeda::fx
