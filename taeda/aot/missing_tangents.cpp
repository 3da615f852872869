// Which nodes missing tangents reach, and what stands for those.
#include "taeda/aot/missing_tangents.h"

#include <unordered_map>
#include <unordered_set>

#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/trace_run.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/operators.h"

namespace taeda::aot {
namespace {

using dispatch::Value;
using fx::Arg;
using fx::Node;

class Remover {
 public:
  Remover(fx::Graph& graph, size_t num_saved, const std::vector<bool>& given) : graph_(graph) {
    const std::vector<Node*> inputs = graph.placeholders();
    for (size_t i = 0; i < given.size(); ++i)
      (given[i] ? reached_ : missing_).insert(inputs.at(num_saved + i));
  }

  void run(size_t num_gradients) {
    for (Node& node : graph_) {
      if (node.op() == fx::OpCode::Placeholder) continue;
      if (node.op() == fx::OpCode::Output) return finish(node, num_gradients);
      if (!has_input_in(node, reached_)) {
        if (has_input_in(node, missing_)) missing_.insert(&node);
        continue;
      }
      reached_.insert(&node);
      if (!is_only_rest_of_sum(node)) fill_missing(node);
    }
  }

 private:
  using Nodes = std::unordered_set<const Node*>;
  static bool has_input_in(const Node& node, const Nodes& nodes) {
    for (const Node* input : node.inputs().list())
      if (nodes.count(input)) return true;
    return false;
  }

  // A sum with what is missing is its other part, if that looks like the sum.
  bool is_only_rest_of_sum(Node& node) {
    if (node.target().op() != &ops::add_Tensor || node.args().size() != 2 || !node.kwargs().empty())
      return false;
    Node *a = node.args()[0].node(), *b = node.args()[1].node();
    if (!a || !b || (!missing_.count(a) && !missing_.count(b))) return false;
    Node* const rest = missing_.count(a) ? b : a;
    const Tensor &sum = node.val().get<Tensor>(), &part = rest->val().get<Tensor>();
    if (sum.dtype() != part.dtype() || sum.sym_sizes() != part.sym_sizes() ||
        sum.sym_strides() != part.sym_strides())
      return false;
    // In memory of its own, as the sum is: views of it stay views of one value.
    const fx::InsertBefore before(graph_, node);
    Node& copy = graph_.call(ops::clone, {Arg(rest)});
    copy.copy_meta(node);
    reached_.insert(&copy);
    node.replace_uses(Arg(&copy));
    return true;
  }

  void fill_missing(Node& node) {
    std::vector<Node*> inputs;
    for (Node* input : node.inputs().list())
      if (missing_.count(input)) inputs.push_back(input);
    for (Node* input : inputs) {
      Node*& zeros = zeros_[input];
      if (!zeros) {
        const fx::InsertBefore before(graph_, node);
        zeros = &graph_.call(ops::zeros_like, {Arg(input)});
        const fx::FreshThread thread;
        zeros->set_val(Value(taeda::zeros_like(input->val().get<Tensor>())));
      }
      node.replace_input(*input, Arg(zeros));
    }
  }

  void finish(Node& output, size_t num_gradients) {
    std::vector<Arg> results = output.args().at(0).compound()->items;
    for (size_t i = 0; i < num_gradients; ++i)
      if (results[i].node() && missing_.count(results[i].node())) results[i] = Arg();
    output.set_args({Arg::tuple(std::move(results))});
    fill_missing(output);
  }

  fx::Graph& graph_;
  Nodes missing_, reached_;  // made of missing tangents alone, and of given ones
  std::unordered_map<Node*, Node*> zeros_;
};

}  // namespace

IntrusivePtr<fx::Graph> without_missing(const fx::Graph& backward, size_t num_saved,
                                        const std::vector<bool>& given, size_t num_gradients) {
  IntrusivePtr<fx::Graph> graph = fx::clone(backward);
  Remover(*graph, num_saved, given).run(num_gradients);
  fx::eliminate_dead_code(*graph);
  return graph;
}

}  // namespace taeda::aot
