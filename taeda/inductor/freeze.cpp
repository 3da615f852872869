// Cutting off what frozen inputs tell, and keeping it.
#include "taeda/inductor/freeze.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "taeda/base/str.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/effects.h"
#include "taeda/inductor/plan_parts.h"
#include "taeda/inductor/read_state.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

using fx::Arg;
using fx::Node;

namespace {

bool holds_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }
bool holds_integer(const Value& v) { return v.is<SymInt>() || v.is<int64_t>(); }

// The parts of a graph that is cut.
struct Cut {
  IntrusivePtr<fx::Graph> once, rest;
  std::vector<size_t> inputs;           // of `once`, among those of the graph
  std::vector<const Node*> attributes;  // that `once` reads
  size_t num_kept = 0;                  // results of `once`, the last inputs of `rest`
};

class FrozenCutter {
 public:
  FrozenCutter(const fx::Graph& graph, const FreezeOptions& options) : graph_(graph) {
    const std::vector<Node*> placeholders = graph.placeholders();
    fx::for_each_node(graph.output_node()->args().at(0), [&](Node& node) {
      if (holds_tensor(node.val())) given_.insert(storage_of(node));
    });
    const size_t count = std::min(placeholders.size(), options.is_frozen.size());
    for (size_t i = 0; i < count; ++i)
      if (options.is_frozen[i] && holds_tensor(placeholders[i]->val()))
        frozen_.insert(placeholders[i]);
    for (const Node& node : graph) {
      if (is_told(node)) frozen_.insert(&node);
      if (options.lays_out_filters) find_filters(node);
    }
  }

  // Nothing where the frozen inputs' sizes are not told by themselves. Without `once` where they
  // tell nothing that is worth keeping.
  std::optional<Cut> run() {
    find_kept();
    Cut cut;
    write_rest(cut);
    if (kept_.empty()) return cut;
    write_once(cut);
    cut.num_kept = kept_.size();
    if (!tells_symbols(*cut.once)) return std::nullopt;
    return cut;
  }

 private:
  static const void* storage_of(const Node& node) {
    return node.val().get<Tensor>().storage().get();
  }

  bool is_told(const Node& node) const {
    if (node.op() == fx::OpCode::GetAttr) return holds_tensor(node.val());
    if (node.op() != fx::OpCode::CallFunction || node.is_impure()) return false;
    if (!holds_tensor(node.val()) && !holds_integer(node.val())) return false;
    // The program's results may be written to; what is kept may not.
    if (holds_tensor(node.val()) && given_.count(storage_of(node))) return false;
    if (fx::draws(node)) return false;
    const auto& inputs = node.inputs().list();
    return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](const Node* input) {
      return frozen_.count(input) != 0;
    });
  }

  // Filters that only convolutions read.
  void find_filters(const Node& node) {
    if (node.target().op() != &ops::convolution || frozen_.count(&node)) return;
    const Node* const filters = node.args().at(1).node();
    const bool is_transposed = fx::bind_to_schema(node).at(6).constant().get<bool>();
    if (is_transposed || !filters || !frozen_.count(filters)) return;
    const auto& users = filters->users().list();
    const bool is_alone = std::all_of(users.begin(), users.end(), [](const Node* user) {
      return user->target().op() == &ops::convolution;
    });
    const int64_t dim = filters->val().get<Tensor>().dim();
    if (is_alone && (dim == 4 || dim == 5)) filters_.insert(filters);
  }
  static MemoryFormat format_of(const Node& filters) {
    const bool is_flat = filters.val().get<Tensor>().dim() == 4;
    return is_flat ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  }
  // A value as it is kept.
  Value kept_value(const Node& node) const {
    const Tensor value = node.val().get<Tensor>();
    return filters_.count(&node) ? value.clone(format_of(node)) : value;
  }

  // Tensors that are told and that something else reads.
  void find_kept() {
    std::unordered_set<const Node*> seen;
    for (const Node& node : graph_) {
      if (frozen_.count(&node) || node.op() == fx::OpCode::Placeholder) continue;
      for (const Node* input : node.inputs().list()) keep_under(*input, seen);
    }
  }
  void keep_under(const Node& node, std::unordered_set<const Node*>& seen) {
    if (!frozen_.count(&node)) return;
    if (node.op() != fx::OpCode::CallFunction && !filters_.count(&node)) return;
    if (!seen.insert(&node).second) return;
    if (holds_tensor(node.val())) {
      kept_.push_back(&node);
      return;
    }
    // A size is computed again.
    for (const Node* input : node.inputs().list()) keep_under(*input, seen);
  }

  void write_once(Cut& cut) {
    cut.once = make_intrusive<fx::Graph>();
    fx::NodeMap map;
    const std::vector<Node*> placeholders = graph_.placeholders();
    for (size_t i = 0; i < placeholders.size(); ++i) {
      if (!frozen_.count(placeholders[i])) continue;
      cut.inputs.push_back(i);
      map[placeholders[i]] = copied(*placeholders[i], *cut.once, map);
    }
    for (const Node& node : graph_) {
      if (!frozen_.count(&node) || node.op() == fx::OpCode::Placeholder) continue;
      if (node.op() == fx::OpCode::GetAttr) cut.attributes.push_back(&node);
      map[&node] = copied(node, *cut.once, map);
    }
    std::vector<Arg> results;
    for (const Node* node : kept_) {
      results.push_back(map.at(node));
      if (!filters_.count(node)) continue;
      const Arg format{Value(format_of(*node))};
      Node& copy = cut.once->call(ops::clone, {map.at(node)}, {{"memory_format", format}});
      copy.set_val(kept_value(*node));
      results.back() = Arg(copy);
    }
    cut.once->output(Arg::tuple(std::move(results)));
  }

  void write_rest(Cut& cut) {
    cut.rest = make_intrusive<fx::Graph>();
    fx::NodeMap map;
    for (const Node* node : graph_.placeholders()) {
      map[node] = copied(*node, *cut.rest, map);
      if (frozen_.count(node)) mark_frozen(*map[node].node());
    }
    for (const Node* node : kept_) {
      Node& input = cut.rest->placeholder(str("frozen_", node->name()));
      input.copy_meta(*node);
      input.set_val(kept_value(*node));
      mark_frozen(input);
      map[node] = Arg(input);
    }
    for (const Node& node : graph_) {
      if (map.count(&node)) continue;
      if (node.op() == fx::OpCode::GetAttr) {
        map[&node] = copied(node, *cut.rest, map);
        mark_frozen(*map[&node].node());
        continue;
      }
      const bool is_left_out = frozen_.count(&node) && node.op() == fx::OpCode::CallFunction;
      if (!is_left_out || holds_integer(node.val())) map_with_inputs(node, *cut.rest, map);
    }
  }
  // Sizes of what is told lie behind nodes that the rest does not have.
  void map_with_inputs(const Node& node, fx::Graph& to, fx::NodeMap& map) {
    for (const Node* input : node.inputs().list())
      if (!map.count(input)) map_with_inputs(*input, to, map);
    map[&node] = copied(node, to, map);
  }

  static void mark_frozen(Node& node) { node.set_meta_value(kFrozenKey, Value(true)); }
  static Arg copied(const Node& node, fx::Graph& to, const fx::NodeMap& map) {
    return Arg(fx::copy_node(node, to, [&](Node& n) { return map.at(&n); }));
  }

  const fx::Graph& graph_;
  std::unordered_set<const void*> given_;    // storages of results
  std::unordered_set<const Node*> frozen_;   // inputs, and what they tell
  std::unordered_set<const Node*> filters_;  // that are laid out anew
  std::vector<const Node*> kept_;
};

struct KeptResults {
  std::vector<ReadState> sources;
  std::vector<Value> results;

  bool is_for(const std::vector<Tensor>& now) const {
    return std::equal(sources.begin(), sources.end(), now.begin(), now.end(),
                      [](const ReadState& state, const Tensor& t) { return state.is_of(t); });
  }
};

// Results for frozen inputs, shared by threads.
class Keeper {
 public:
  Keeper(fx::CompiledFn once, std::vector<size_t> inputs, std::vector<Tensor> attributes)
      : once_(std::move(once)), inputs_(std::move(inputs)), attributes_(std::move(attributes)) {}

  std::vector<Value> results(const std::vector<Value>& all) {
    std::vector<Tensor> sources = attributes_;
    std::vector<Value> given;
    for (const size_t i : inputs_) {
      given.push_back(all.at(i));
      sources.push_back(given.back().get<Tensor>());
    }
    if (!std::all_of(sources.begin(), sources.end(), counts_writes)) return once_(given);
    {
      const std::lock_guard lock(mutex_);
      if (kept_ && kept_->is_for(sources)) return kept_->results;
    }
    // Versions are those before the run, so that a write meanwhile is noticed. Threads that come
    // here together compute the same; a lock would wait for whatever the plan calls.
    auto made = std::make_shared<KeptResults>();
    for (const Tensor& t : sources) made->sources.emplace_back(t);
    made->results = once_(given);
    const std::lock_guard lock(mutex_);
    kept_ = made;
    return made->results;
  }

 private:
  static bool counts_writes(const Tensor& t) {
    return has_memory(Value(t)) && t.impl()->has_version_counter();
  }

  fx::CompiledFn once_;
  std::vector<size_t> inputs_;
  std::vector<Tensor> attributes_;
  std::mutex mutex_;
  std::shared_ptr<const KeptResults> kept_;
};

}  // namespace

Segments compile_frozen(const fx::Graph& graph, fx::AttributeReader attributes,
                        const FreezeOptions& frozen, const PlanOptions& options) {
  const std::optional<Cut> cut = FrozenCutter(graph, frozen).run();
  if (!cut) return compile_segments(graph, attributes, options);
  if (!cut->once) return compile_segments(*cut->rest, attributes, options);
  Segments once = compile_segments(*cut->once, attributes, options);
  Segments rest = compile_segments(*cut->rest, attributes, options);
  std::vector<Tensor> read;
  for (const Node* node : cut->attributes)
    read.push_back(attributes(*node->target().name()).get<Tensor>());
  auto keeper = std::make_shared<Keeper>(std::move(once.run), cut->inputs, std::move(read));
  Segments made;
  for (const Segments* part : {&once, &rest}) {
    made.plans.insert(made.plans.end(), part->plans.begin(), part->plans.end());
    made.apart.insert(made.apart.end(), part->apart.begin(), part->apart.end());
  }
  made.run = [keeper, run = std::move(rest.run)](const std::vector<Value>& inputs) {
    std::vector<Value> all = inputs;
    for (Value& kept : keeper->results(inputs)) all.push_back(std::move(kept));
    return run(all);
  };
  return made;
}

}  // namespace taeda::inductor
