// Checks of a graph's form, and of whether it is closed.
#include <unordered_set>

#include "taeda/fx/builtins.h"
#include "taeda/fx/graph.h"

namespace taeda::fx {
namespace {

void check_inputs(const Graph& graph, const Node& node,
                  const std::unordered_set<const Node*>& seen) {
  NodeSet used;
  auto check = [&](Node& n) {
    TAEDA_CHECK(n.graph() == &graph, "Argument '", n.name(), "' of Node '", node.name(),
                "' does not belong to this Graph, but was used as an argument! If you are copying "
                "nodes from another graph, make sure to ``arg_transform`` on node_copy() to remap "
                "values");
    TAEDA_CHECK(seen.count(&n), "Argument '", n.name(), "' of Node '", node.name(),
                "' was used before it has been defined! Please check that Nodes in the graph are "
                "topologically ordered");
    used.add(&n);
  };
  for (const Arg& a : node.args()) for_each_node(a, check);
  for (const auto& [name, a] : node.kwargs()) for_each_node(a, check);
  TAEDA_CHECK(used.list() == node.inputs().list(), "Node '", node.name(),
              "' has inputs out of step with its arguments");
  for (Node* n : used.list())
    TAEDA_CHECK(n->users().contains(&node), "Node '", n->name(), "' does not list its user '",
                node.name(), "'");
}

void check_regions(const Arg& arg) {
  if (const Graph* region = arg.region()) lint(*region);
  if (const Compound* c = arg.compound())
    for (const Arg& item : c->items) check_regions(item);
}

std::string open_part(const Arg& arg) {
  if (arg.is_constant() && arg.constant().is<IntrusivePtr<Opaque>>())
    return str("an argument is the object ", arg.constant().get<IntrusivePtr<Opaque>>()->text());
  if (const Graph* region = arg.region()) return open_reason(*region);
  if (const Compound* c = arg.compound()) {
    if (c->type) return str("an argument is a ", c->type->text());
    for (const Arg& item : c->items)
      if (std::string why = open_part(item); !why.empty()) return why;
  }
  return {};
}

std::string open_part(const Node& node) {
  switch (node.op()) {
    case OpCode::CallMethod:
    case OpCode::CallModule:
      return str("it is a ", opcode_name(node.op()), " of ", node.target().text());
    case OpCode::CallFunction:
      if (!node.target().op() && !node.target().builtin())
        return str("it calls ", node.target().text(), ", which is no operator");
      if (node.target().builtin() && node.target().builtin()->sets_mode)
        return str("it sets a mode of the thread by ", node.target().builtin()->name,
                   ", of which wrap_mode_scopes makes a scope");
      break;
    default: break;
  }
  for (const Arg& a : node.args())
    if (std::string why = open_part(a); !why.empty()) return why;
  for (const auto& [name, a] : node.kwargs())
    if (std::string why = open_part(a); !why.empty()) return why;
  return {};
}

}  // namespace

void lint(const Graph& graph) {
  std::unordered_set<const Node*> seen;
  std::unordered_set<std::string_view> names;
  bool has_output = false;
  for (const Node& node : graph) {
    TAEDA_CHECK(!has_output, "Node ", node.name(), " comes after the output");
    TAEDA_CHECK(node.graph() == &graph, "Node '", node.name(), "' does not belong to this Graph!");
    check_inputs(graph, node, seen);
    for (const Arg& a : node.args()) check_regions(a);
    TAEDA_CHECK(names.insert(node.name()).second, "Node redefined name ", node.name(), "!");
    seen.insert(&node);
    has_output = node.op() == OpCode::Output;
  }
}

std::string open_reason(const Graph& graph) {
  for (const Node& node : graph)
    if (std::string why = open_part(node); !why.empty())
      return str("node ", node.name(), ": ", why);
  return {};
}

void check_closed(const Graph& graph) {
  const std::string why = open_reason(graph);
  TAEDA_CHECK(why.empty(), "the graph is not closed: ", why,
              "; make_fx and export make closed graphs");
}

}  // namespace taeda::fx
