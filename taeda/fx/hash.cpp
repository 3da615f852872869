// Hash and equality of graphs by structure: nodes are numbered, names do not count.
#include "taeda/fx/graph.h"

namespace taeda::fx {
namespace {

using Numbers = std::unordered_map<const Node*, size_t>;

size_t mix(size_t seed, size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed << 6) + (value >> 3);
}

size_t hash_arg(const Arg& arg, const Numbers& numbers) {
  if (arg.is_constant()) return mix(1, hash_value(arg.constant()));
  if (const Node* n = arg.node()) return mix(2, numbers.at(n));
  if (const Graph* region = arg.region()) return mix(3, structural_hash(*region));
  const Compound& c = *arg.compound();
  size_t h = mix(4, static_cast<size_t>(c.kind));
  for (const Value& k : c.keys) h = mix(h, hash_value(k));
  for (const Arg& item : c.items) h = mix(h, hash_arg(item, numbers));
  return h;
}

class Comparison {
 public:
  bool equal(const Graph& a, const Graph& b) {
    if (a.size() != b.size()) return false;
    for (Node *x = a.first(), *y = b.first(); x != a.end_node(); x = x->next(), y = y->next()) {
      if (!equal(*x, *y)) return false;
      pairs_[x] = y;
    }
    return true;
  }

 private:
  bool equal(const Node& x, const Node& y) {
    // The name of an input is no part of the structure; the name of an attribute is.
    if (x.op() != y.op()) return false;
    if (x.op() != OpCode::Placeholder && !(x.target() == y.target())) return false;
    if (!equal(x.args(), y.args()) || x.kwargs().size() != y.kwargs().size()) return false;
    for (const auto& [name, a] : x.kwargs()) {
      const Arg* other = y.kwarg(name);
      if (!other || !equal(a, *other)) return false;
    }
    return true;
  }
  bool equal(const std::vector<Arg>& a, const std::vector<Arg>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!equal(a[i], b[i])) return false;
    return true;
  }
  bool equal(const Arg& a, const Arg& b) {
    if (a.node() || b.node()) return a.node() && pairs_[a.node()] == b.node();
    if (a.region() || b.region())
      return a.region() && b.region() && Comparison().equal(*a.region(), *b.region());
    const Compound *c = a.compound(), *d = b.compound();
    if (!c || !d) return a == b;
    if (c->kind != d->kind || c->keys.size() != d->keys.size()) return false;
    for (size_t i = 0; i < c->keys.size(); ++i)
      if (!same_value(c->keys[i], d->keys[i])) return false;
    return equal(c->items, d->items);
  }

  std::unordered_map<const Node*, const Node*> pairs_;
};

}  // namespace

size_t structural_hash(const Graph& graph) {
  Numbers numbers;
  size_t h = graph.size();
  for (const Node& node : graph) {
    h = mix(h, static_cast<size_t>(node.op()));
    if (node.op() != OpCode::Placeholder) h = mix(h, node.target().hash());
    for (const Arg& a : node.args()) h = mix(h, hash_arg(a, numbers));
    size_t named = 0;  // the order of keywords does not count
    for (const auto& [name, a] : node.kwargs())
      named += mix(std::hash<std::string>()(name), hash_arg(a, numbers));
    h = mix(h, named);
    numbers.emplace(&node, numbers.size());
  }
  return h;
}

bool structurally_equal(const Graph& a, const Graph& b) { return Comparison().equal(a, b); }

}  // namespace taeda::fx
