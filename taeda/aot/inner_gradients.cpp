// Backwards in steps.
#include "taeda/aot/inner_gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/autograd/grad_mode.h"
#include "taeda/fx/retrace.h"

namespace taeda::aot {

using fx::Arg;
using fx::Node;

namespace {

// The number of the value whose gradient a node is.
std::optional<uint32_t> value_of(const Node& node) {
  const Value number = node.meta_value(fx::kGradientMeta);
  if (!number.is<int64_t>()) return std::nullopt;
  return static_cast<uint32_t>(number.get<int64_t>());
}

bool is_computed(const Node& node) {
  return node.op() != fx::OpCode::Placeholder && node.op() != fx::OpCode::Output;
}

}  // namespace

std::vector<size_t> inner_values(const fx::Graph& backward) {
  std::vector<size_t> found;
  for (const Node& node : backward)
    if (const auto value = value_of(node); value && is_computed(node)) found.push_back(*value);
  return found;
}

SteppedBackward::SteppedBackward(IntrusivePtr<fx::Graph> backward, size_t num_saved,
                                 const std::vector<bool>& tangents_given, Span<uint32_t> asked)
    : graph_(std::move(backward)) {
  std::unordered_set<const Node*> reached;
  const std::vector<Node*> inputs = graph_->placeholders();
  for (size_t i = 0; i < tangents_given.size(); ++i)
    if (tangents_given[i]) reached.insert(inputs.at(num_saved + i));
  // By node: the step that computes it, and the first one that reads it.
  std::unordered_map<const Node*, size_t> step_of, read_from;
  std::vector<std::pair<const Node*, uint32_t>> shown;
  for (const Node& node : *graph_) {
    size_t& step = step_of[&node];
    for (const Node* input : node.inputs().list()) {
      step = std::max(step, std::max(step_of[input], read_from[input]));
      if (reached.count(input)) reached.insert(&node);
    }
    const auto value = value_of(node);
    if (!value || !is_computed(node) || !reached.count(&node)) continue;
    if (std::find(asked.begin(), asked.end(), *value) == asked.end()) continue;
    shown.emplace_back(&node, *value);
    read_from[&node] = shown.size();
  }
  for (size_t s = 0; s <= shown.size(); ++s) {
    fx::Graph graph;
    std::unordered_map<const Node*, Arg> given;
    std::vector<const Node*> takes, gives;
    std::vector<Arg> out;
    for (const Node& node : *graph_) {
      if (!is_computed(node) || step_of[&node] != s) continue;
      for (const Node* input : node.inputs().list()) {
        if (given.count(input)) continue;
        Node& taken = graph.placeholder(input->name());
        taken.copy_meta(*input);
        given[input] = Arg(taken);
        takes.push_back(input);
      }
      given[&node] = Arg(fx::copy_node(node, graph, [&](Node& n) { return given.at(&n); }));
      const auto is_later = [&](const Node* user) {
        return user->op() == fx::OpCode::Output || step_of[user] > s;
      };
      const bool is_shown = s < shown.size() && shown[s].first == &node;
      const auto& users = node.users().list();
      if (!is_shown && std::none_of(users.begin(), users.end(), is_later)) continue;
      gives.push_back(&node);
      out.push_back(given[&node]);
    }
    graph.output(Arg::tuple(std::move(out)));
    Step step{std::move(takes), std::move(gives), fx::Plan(graph)};
    if (s < shown.size()) std::tie(step.shown, step.value) = shown[s];
    steps_.push_back(std::move(step));
  }
}

bool SteppedBackward::shows(uint32_t value) const {
  return std::ranges::any_of(steps_,
                             [&](const Step& step) { return step.shown && step.value == value; });
}

std::vector<Value> SteppedBackward::run(std::vector<Value> inputs, fx::AttributeReader attributes,
                                        autograd::ShowInner show) const {
  std::unordered_map<const Node*, Value> values;
  const std::vector<Node*> placeholders = graph_->placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) values[placeholders[i]] = std::move(inputs[i]);
  for (const Step& step : steps_) {
    std::vector<Value> taken;
    for (const Node* node : step.takes) taken.push_back(values.at(node));
    Value given;
    {
      const autograd::NoGrad unrecorded;
      const ExcludeKeys cast_already(Key::Autocast);
      given = step.plan.run(std::move(taken), attributes);
    }
    const Value::List& list = *given.get<std::shared_ptr<Value::List>>();
    for (size_t i = 0; i < step.gives.size(); ++i) values[step.gives[i]] = list.at(i);
    if (!step.shown) continue;
    Value& gradient = values.at(step.shown);
    const Tensor before = gradient.get<Tensor>();
    gradient = Value(show(step.value, before));
    if (!gradient.get<Tensor>().defined()) gradient = Value(before.new_zeros(before.sym_sizes()));
  }
  std::vector<Value> results;
  for (const Arg& result : graph_->output_node()->args().at(0).compound()->items)
    results.push_back(result.node() ? values.at(result.node()) : Value());
  return results;
}

}  // namespace taeda::aot
