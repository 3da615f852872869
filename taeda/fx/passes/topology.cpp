// Order and parts of graphs.
#include <unordered_set>

#include "taeda/fx/passes/topology.h"

namespace taeda::fx {
namespace {

// Depth-first over inputs without recursion.
class Sorter {
 public:
  explicit Sorter(Graph& graph) : graph_(graph) {}

  std::vector<Node*> run() {
    for (Node& n : graph_) visit(&n);
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { Open, Done };
  struct Frame {
    Node* node;
    std::vector<Node*> inputs;
    size_t next = 0;
  };

  void visit(Node* start) {
    if (states_.count(start)) return;
    open(start);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.inputs.size()) {
        states_[top.node] = State::Done;
        order_.push_back(top.node);
        stack_.pop_back();
        continue;
      }
      Node* input = top.inputs[top.next++];
      auto it = states_.find(input);
      if (it == states_.end())
        open(input);
      else
        TAEDA_CHECK(it->second == State::Done, "the graph has a cycle: ", cycle_text(input));
    }
  }
  void open(Node* n) {
    states_[n] = State::Open;
    stack_.push_back({n, n->inputs().list()});
  }
  std::string cycle_text(const Node* closing) const {
    std::string text = closing->name();
    for (size_t i = stack_.size(); i-- > 0;) {
      text += " <- " + stack_[i].node->name();
      if (stack_[i].node == closing) break;
    }
    return text;
  }

  Graph& graph_;
  std::unordered_map<const Node*, State> states_;
  std::vector<Frame> stack_;
  std::vector<Node*> order_;
};

}  // namespace

void sort_topologically(Graph& graph) {
  for (Node* n : Sorter(graph).run()) graph.move_before(*n, *graph.end_node());
}

bool depends_on(const Node& node, const Node& other) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open{&node};
  while (!open.empty()) {
    const Node* n = open.back();
    open.pop_back();
    for (const Node* input : n->inputs().list()) {
      if (input == &other) return true;
      if (seen.insert(input).second) open.push_back(input);
    }
  }
  return false;
}

Subgraph extract_subgraph(const Graph& graph, const std::vector<Node*>& nodes) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  Subgraph part{make_intrusive<Graph>(), {}, {}};
  NodeMap map;
  for (Node* n : nodes)
    for (Node* input : n->inputs().list())
      if (!inside.count(input) && !map.count(input)) {
        Node& placeholder = part.graph->placeholder(input->name());
        placeholder.copy_meta(*input);
        map.emplace(input, Arg(placeholder));
        part.inputs.push_back(input);
      }
  std::vector<Arg> results;
  auto mapped = [&](Node& n) { return map.at(&n); };
  for (Node& n : graph) {
    if (!inside.count(&n)) continue;
    TAEDA_CHECK(n.op() != OpCode::Output, "a part of a graph cannot hold the output");
    map.emplace(&n, Arg(copy_node(n, *part.graph, mapped)));
    bool is_result = n.users().empty();
    for (Node* user : n.users().list()) is_result |= !inside.count(user);
    if (!is_result) continue;
    part.outputs.push_back(&n);
    results.push_back(map.at(&n));
  }
  part.graph->output(Arg::tuple(std::move(results)));
  return part;
}

}  // namespace taeda::fx
