// Common-subexpression elimination.
#include "taeda/fx/passes/common_subexpressions.h"
#include "taeda/fx/bind.h"

namespace taeda::fx {
namespace {

size_t hash_of(const Arg& a) {
  if (a.is_constant()) return hash_value(a.constant());
  if (a.node()) return std::hash<const void*>()(a.node());
  if (a.region()) return std::hash<const void*>()(a.region());
  size_t h = a.compound()->items.size();
  for (const Arg& item : a.compound()->items) h = h * 31 + hash_of(item);
  return h;
}

struct HashCall {
  size_t operator()(const Node* n) const {
    size_t h = n->target().hash();
    for (const Arg& a : n->args()) h = h * 31 + hash_of(a);
    for (const auto& [name, a] : n->kwargs()) h += hash_of(a);
    return h;
  }
};

struct SameCall {
  bool operator()(const Node* a, const Node* b) const {
    return a->op() == b->op() && a->target() == b->target() && a->args() == b->args() &&
           a->kwargs() == b->kwargs();
  }
};

bool writes(const Node& n) {
  if (const dispatch::Operator* op = n.target().op()) return call_form(*op).writes;
  return n.op() == OpCode::CallFunction && n.is_impure();
}

}  // namespace

size_t eliminate_common_subexpressions(Graph& graph) {
  for (const Node& n : graph)
    if (writes(n)) return 0;
  std::unordered_map<Node*, char, HashCall, SameCall> first;
  size_t removed = 0;
  for (Node& n : graph) {
    if (n.is_impure()) continue;
    const auto [it, is_new] = first.try_emplace(&n, 0);
    if (is_new) continue;
    n.replace_uses(Arg(it->first));
    graph.erase(n);
    ++removed;
  }
  return removed;
}

}  // namespace taeda::fx
