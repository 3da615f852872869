// Copies of nodes and graphs.
#include "taeda/fx/graph.h"

namespace taeda::fx {
namespace {

// Regions of a copy are copies: two graphs never share a graph that either may edit.
Arg with_own_regions(const Arg& arg) {
  if (const Graph* region = arg.region()) return Arg(clone(*region));
  const Compound* c = arg.compound();
  if (!c) return arg;
  bool has_regions = false;
  for (const Arg& item : c->items) has_regions |= item.region() != nullptr;
  if (!has_regions) return arg;
  std::vector<Arg> items;
  for (const Arg& item : c->items) items.push_back(with_own_regions(item));
  return Arg(make_intrusive<Compound>(c->kind, std::move(items), c->keys, c->type));
}

}  // namespace

Node& copy_node(const Node& node, Graph& to, FunctionRef<Arg(Node&)> map) {
  std::vector<Arg> args;
  args.reserve(node.args().size());
  for (const Arg& a : node.args()) args.push_back(with_own_regions(map_nodes(a, map)));
  Kwargs kwargs;
  for (const auto& [name, a] : node.kwargs()) kwargs.emplace_back(name, map_nodes(a, map));
  Node& copy = to.create(node.op(), node.target(), std::move(args), std::move(kwargs), node.name());
  copy.set_type(node.type());
  copy.copy_meta(node);
  return copy;
}

Arg copy_nodes(const Graph& from, Graph& to, NodeMap& map) {
  auto mapped = [&](Node& n) -> Arg {
    auto it = map.find(&n);
    TAEDA_CHECK(it != map.end(), "Node '", n.name(), "' is used before it is defined");
    return it->second;
  };
  Arg result;
  for (const Node& node : from) {
    if (map.count(&node)) continue;
    if (node.op() == OpCode::Output) {
      if (!node.args().empty()) result = map_nodes(node.args()[0], mapped);
      break;
    }
    map.emplace(&node, Arg(copy_node(node, to, mapped)));
  }
  return result;
}

IntrusivePtr<Graph> clone(const Graph& graph) {
  auto copy = make_intrusive<Graph>();
  NodeMap map;
  auto mapped = [&](Node& n) { return map.at(&n); };
  for (const Node& node : graph) map.emplace(&node, Arg(copy_node(node, *copy, mapped)));
  return copy;
}

}  // namespace taeda::fx
