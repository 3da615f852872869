// Scopes of grad mode and autocast in the place of calls that set them.
//
//   m = builtin::_set_grad_enabled(False)      w = builtin::wrap_with_set_grad_enabled(False,
//   a = aten::mm(x, x)                             graph(x) { a = aten::mm(x, x)  return (a,) }, x)
//   n = builtin::_set_grad_enabled(True)   ->  g = builtin::getitem(w, 0)
//   b = aten::relu(a)                          b = aten::relu(g)
//   return b                                   return b
//
// Nodes that follow each other under the same modes are one scope; autocast scopes lie around the
// one of grad mode. A region refers to nothing outside: attributes are read before it.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/fx/graph.h"

namespace taeda::fx {

// A call that was made, and its number among all stretches of nodes under the same modes.
struct ModeScope {
  Node* call = nullptr;
  size_t number = 0;
};

// `is_grad_enabled`: the mode that the program runs under. `is_mark`: calls without results that
// say something about values where they stand; they stay outside.
TAEDA_API std::vector<ModeScope> wrap_mode_scopes(Graph& graph, bool is_grad_enabled,
                                                  FunctionRef<bool(const Node&)> is_mark);
TAEDA_API std::vector<ModeScope> wrap_mode_scopes(Graph& graph, bool is_grad_enabled = true);

}  // namespace taeda::fx
