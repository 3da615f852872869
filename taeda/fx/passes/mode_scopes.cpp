// Finds the stretches of nodes under the same modes and moves them into regions.
#include "taeda/fx/passes/mode_scopes.h"

#include <algorithm>
#include <unordered_set>

#include "taeda/fx/mode_calls.h"
#include "taeda/fx/regions.h"

namespace taeda::fx {
namespace {

// Nodes that follow each other under the same modes.
struct Stretch {
  bool is_grad_enabled = true;
  std::vector<Node*> casts;  // that entered the autocast regions, outermost first
  std::vector<Node*> nodes;
};

// One scope around a region: the built-in function and its settings.
struct Layer {
  const Builtin* function = nullptr;
  std::vector<Arg> settings;
};

class Stretches {
 public:
  Stretches(Graph& graph, bool is_grad_enabled, FunctionRef<bool(const Node&)> is_mark)
      : is_grad_enabled_(is_grad_enabled) {
    for (Node& node : graph)
      if (!note_mode(node) && is_inside(node) && !is_mark(node)) add(node);
  }
  std::vector<Stretch> all;
  std::vector<Node*> calls;  // that set modes

 private:
  bool note_mode(Node& node) {
    const Builtin* function = node.target().builtin();
    if (!function || !function->sets_mode) return false;
    calls.push_back(&node);
    if (sets_grad_mode(function)) {
      const Arg& mode = node.args().at(0);
      TAEDA_CHECK(mode.is_constant(), "node ", node.name(),
                  " sets a grad mode that is no constant");
      is_grad_enabled_ = mode.constant().to_scalar().to_bool();
    } else if (enters_autocast(function)) {
      casts_.push_back(&node);
    } else {
      std::erase(casts_, node.args().at(0).node());
    }
    return true;
  }

  // Attributes are read outside, so that regions have operands alone.
  static bool is_inside(const Node& node) {
    return node.op() != OpCode::Placeholder && node.op() != OpCode::Output &&
           node.op() != OpCode::GetAttr;
  }

  void add(Node& node) {
    if (all.empty() || all.back().is_grad_enabled != is_grad_enabled_ || all.back().casts != casts_)
      all.push_back({is_grad_enabled_, casts_, {}});
    all.back().nodes.push_back(&node);
  }

  bool is_grad_enabled_;
  std::vector<Node*> casts_;
};

// A stretch on its way into a region.
class Wrapping {
 public:
  Wrapping(Graph& graph, const Stretch& stretch)
      : graph_(graph), stretch_(stretch), inside_(stretch.nodes.begin(), stretch.nodes.end()) {
    for (const Node* node : stretch.nodes)
      for (Node* input : node->inputs().list())
        if (!inside_.count(input)) inputs_.add(input);
    for (Node* node : stretch.nodes)
      if (is_seen_outside(*node)) results_.push_back(node);
  }

  // The outermost call.
  Node& wrap(const std::vector<Layer>& layers) {
    Node& first = *stretch_.nodes.front();
    for (Node* input : inputs_.list())
      if (input->op() == OpCode::GetAttr && !graph_.is_before(*input, first))
        graph_.move_before(*input, first);
    IntrusivePtr<Graph> region = body();
    for (size_t i = layers.size(); i-- > 1;) region = layer_around(layers[i], std::move(region));
    const InsertBefore place(graph_, first);
    const std::vector<Node*> operands = inputs_.list();
    Node& call = add_call(graph_, layers[0], std::move(region), {operands.begin(), operands.end()});
    replace_results(call);
    return call;
  }

 private:
  bool is_seen_outside(const Node& node) const {
    const std::vector<Node*> users = node.users().list();
    return std::any_of(users.begin(), users.end(), [&](Node* n) { return !inside_.count(n); });
  }

  NodeMap add_inputs(Graph& region) const {
    NodeMap map;
    for (Node* input : inputs_.list()) {
      Node& own = region.placeholder(input->name());
      own.copy_meta(*input);
      map.emplace(input, Arg(own));
    }
    return map;
  }

  IntrusivePtr<Graph> body() const {
    auto region = make_intrusive<Graph>();
    NodeMap map = add_inputs(*region);
    const auto mapped = [&](Node& n) { return map.at(&n); };
    for (const Node* node : stretch_.nodes)
      map.emplace(node, Arg(copy_node(*node, *region, mapped)));
    std::vector<Arg> results;
    for (const Node* node : results_) results.push_back(map.at(node));
    region->output(Arg::tuple(std::move(results)));
    return region;
  }

  // A region that calls another one under a mode.
  IntrusivePtr<Graph> layer_around(const Layer& layer, IntrusivePtr<Graph> inner) const {
    auto region = make_intrusive<Graph>();
    const NodeMap map = add_inputs(*region);
    std::vector<Arg> operands, results;
    for (const Node* input : inputs_.list()) operands.push_back(map.at(input));
    Node& call = add_call(*region, layer, std::move(inner), std::move(operands));
    for (Node* part : add_parts(*region, call)) results.emplace_back(part);
    region->output(Arg::tuple(std::move(results)));
    return region;
  }

  Node& add_call(Graph& graph, const Layer& layer, IntrusivePtr<Graph> region,
                 std::vector<Arg> operands) const {
    std::vector<Arg> args = layer.settings;
    args.emplace_back(std::move(region));
    args.insert(args.end(), operands.begin(), operands.end());
    Node& call = graph.call(*layer.function, std::move(args));
    Values examples;
    bool is_known = true;
    for (const Node* node : results_) {
      examples.push_back(node->val());
      is_known &= !examples.back().is_none();
    }
    if (is_known) call.set_val(list(std::move(examples)));
    return call;
  }

  std::vector<Node*> add_parts(Graph& graph, Node& call) const {
    std::vector<Node*> parts;
    for (size_t i = 0; i < results_.size(); ++i) {
      parts.push_back(
          &graph.call(get_builtin("getitem"), {Arg(call), Arg(static_cast<int64_t>(i))}));
      parts.back()->copy_meta(*results_[i]);
    }
    return parts;
  }

  void replace_results(Node& call) {
    const std::vector<Node*> parts = add_parts(graph_, call);
    for (size_t i = 0; i < parts.size(); ++i)
      results_[i]->replace_uses(Arg(parts[i]), [&](Node& user) { return !inside_.count(&user); });
    for (size_t i = stretch_.nodes.size(); i-- > 0;) graph_.erase(*stretch_.nodes[i]);
  }

  Graph& graph_;
  const Stretch& stretch_;
  std::unordered_set<const Node*> inside_;
  NodeSet inputs_;
  std::vector<Node*> results_;
};

std::vector<Layer> layers_of(const Stretch& stretch, bool is_grad_enabled) {
  std::vector<Layer> layers;
  for (const Node* cast : stretch.casts)
    layers.push_back({&get_builtin("wrap_with_autocast"), cast->args()});
  if (stretch.is_grad_enabled != is_grad_enabled)
    layers.push_back({&get_builtin("wrap_with_set_grad_enabled"), {Arg(stretch.is_grad_enabled)}});
  return layers;
}

}  // namespace

std::vector<ModeScope> wrap_mode_scopes(Graph& graph, bool is_grad_enabled,
                                        FunctionRef<bool(const Node&)> is_mark) {
  const Stretches found(graph, is_grad_enabled, is_mark);
  std::vector<ModeScope> scopes;
  for (size_t i = 0; i < found.all.size(); ++i) {
    const std::vector<Layer> layers = layers_of(found.all[i], is_grad_enabled);
    if (!layers.empty()) scopes.push_back({&Wrapping(graph, found.all[i]).wrap(layers), i});
  }
  for (size_t i = found.calls.size(); i-- > 0;) graph.erase(*found.calls[i]);
  return scopes;
}

std::vector<ModeScope> wrap_mode_scopes(Graph& graph, bool is_grad_enabled) {
  return wrap_mode_scopes(graph, is_grad_enabled, [](const Node&) { return false; });
}

}  // namespace taeda::fx
