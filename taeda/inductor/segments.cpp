// Cutting graphs where a plan must end.
#include "taeda/inductor/segments.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "taeda/base/str.h"
#include "taeda/dispatch/call_form.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/regions.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/inductor/compile.h"
#include "taeda/inductor/numbers.h"
#include "taeda/ops/operators.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::inductor {

using fx::Arg;
using fx::Node;
using symbolic::Expr;

namespace {

using Symbols = std::unordered_set<const Expr*>;

// A number of data may be a constant by now, because a later operator asked for it to be one: the
// graph asserts that, and only what the run gives can tell whether it holds.
void add_symbols(const fx::SymExprNode& node, Symbols& found) {
  for (const Expr* symbol : symbolic::symbols_of(node.expr())) found.insert(symbol);
  if (node.raw_expr()->has_hint) return;
  for (const Expr* symbol : symbolic::symbols_of(node.raw_expr()))
    if (!symbol->has_hint) found.insert(symbol);
}

void add_symbols(const SymInt& v, Symbols& found) {
  if (!v.is_symbolic()) return;
  if (const fx::SymExprNode* node = fx::SymExprNode::from(v.node())) add_symbols(*node, found);
}

void add_symbols(const Value& v, Symbols& found) {
  if (v.is<SymInt>()) add_symbols(v.get<SymInt>(), found);
  if (v.is<IntrusivePtr<SymNode>>()) {
    const fx::SymExprNode* node = fx::SymExprNode::from(v.get<IntrusivePtr<SymNode>>().get());
    if (node) add_symbols(*node, found);
  }
  dispatch::for_each_tensor(v, [&](const Tensor& t) {
    if (!t.defined()) return;
    for (const SymInt& size : t.sym_sizes()) add_symbols(size, found);
    for (const SymInt& stride : t.sym_strides()) add_symbols(stride, found);
    add_symbols(t.impl()->sym_storage_offset(), found);
  });
}

bool is_integer(const Value& v) { return v.is<SymInt>() || v.is<int64_t>(); }
bool is_number(const Value& v) {
  return is_integer(v) || v.is<IntrusivePtr<SymNode>>() || v.is<double>() || v.is<bool>();
}

// Whether a result of an operator with several is a list itself.
bool has_list_inside(const Value& v) {
  if (!v.is<std::shared_ptr<Value::List>>()) return false;
  return std::ranges::any_of(*v.get<std::shared_ptr<Value::List>>(), [](const Value& item) {
    return item.is<std::vector<Tensor>>() || item.is<std::shared_ptr<Value::List>>();
  });
}

// Tensors without memory: operators of the device run on them.
bool is_on_meta(const Value& v) {
  bool found = false;
  dispatch::for_each_tensor(
      v, [&](const Tensor& t) { found |= t.defined() && t.device().type() == DeviceType::Meta; });
  return found;
}

bool has_region(const Arg& arg) {
  if (arg.region()) return true;
  const fx::Compound* compound = arg.compound();
  return compound && std::any_of(compound->items.begin(), compound->items.end(),
                                 [](const Arg& item) { return has_region(item); });
}

// A part of the graph, and where its values come from and go to: slots of a run.
struct Segment {
  IntrusivePtr<fx::Graph> graph;
  bool is_apart = false;
  std::vector<size_t> inputs, outputs;
  std::shared_ptr<CompiledGraph> plan;
  std::shared_ptr<fx::Plan> eager;
};

// A symbol that is known once a value is there.
struct SymbolSource {
  size_t slot;  // of the value
  static constexpr int kItself = -1, kOffset = -2;
  int dim;        // of a tensor's sizes; or the value itself, or the tensor's place in its storage
  size_t target;  // the slot that it gets
};

class Cutter {
 public:
  Cutter(const fx::Graph& graph, fx::AttributeReader attributes, const PlanOptions& options)
      : graph_(graph), attributes_(attributes), options_(options) {}

  // Whether the graph is one plan as it is.
  bool is_whole() {
    Symbols known;
    for (const Node& node : graph_) {
      if (node.op() == fx::OpCode::Placeholder) add_symbols(node.val(), known);
      if (node.op() == fx::OpCode::CallFunction ? runs_apart(node, known) : is_on_meta(node.val()))
        return false;
    }
    return true;
  }

  Segments run() {
    cut();
    find_outputs();
    for (size_t i = 0; i < members_.size(); ++i) write(i);
    return finish();
  }

 private:
  struct Members {
    std::vector<const Node*> nodes;
    bool is_apart = false;
  };

  static bool runs_apart(const Node& node, const Symbols& known) {
    for (const Arg& arg : node.args())
      if (has_region(arg)) return true;
    // What the program states of such a number is checked on the number itself.
    const dispatch::Operator* op = node.target().op();
    if (op && op->has(dispatch::Tag::DataDependentOutput)) return true;
    // What is read behind the call is what the call wrote: within a plan it could be computed
    // again.
    if (op && op != &ops::copy_ && dispatch::call_form(*op).writes) return true;
    const Value val = node.val();
    if (has_list_inside(val) || is_on_meta(val)) return true;
    if (is_number(val) && !is_integer(val) && !is_computed_float(node)) return true;
    if (val.is_none() && node.is_impure()) return true;
    Symbols mentioned;
    add_symbols(val, mentioned);
    return std::any_of(mentioned.begin(), mentioned.end(),
                       [&](const Expr* symbol) { return !known.count(symbol); });
  }

  // Note [Computed numbers]
  static bool is_computed_float(const Node& node) {
    const Value val = node.val();
    if (!node.target().builtin() || !val.is<IntrusivePtr<SymNode>>()) return false;
    const fx::SymExprNode* number = fx::SymExprNode::from(val.get<IntrusivePtr<SymNode>>().get());
    return number && number->expr()->kind == SymKind::Float && is_computed(number->expr());
  }

  void cut() {
    Symbols known;
    // The inputs of a run are its first slots.
    for (const Node* node : graph_.placeholders()) slot_of_[node] = num_slots_++;
    for (const Node& node : graph_) {
      if (node.op() == fx::OpCode::Placeholder) {
        add_symbols(node.val(), known);
        note_symbols(node);
        continue;
      }
      if (node.op() != fx::OpCode::CallFunction) continue;
      if (const size_t* part = part_of_list(node)) {
        part_of_[&node] = *part;
        members_[*part].nodes.push_back(&node);
        continue;
      }
      const bool is_apart = runs_apart(node, known);
      if (is_apart || members_.empty() || members_.back().is_apart)
        members_.push_back({{}, is_apart});
      members_.back().nodes.push_back(&node);
      part_of_[&node] = members_.size() - 1;
      if (is_apart) add_symbols(node.val(), known);
    }
  }

  // The part that runs apart and gives the list of which this is an item; null for other nodes.
  const size_t* part_of_list(const Node& node) const {
    const fx::Builtin* builtin = node.target().builtin();
    if (!builtin || builtin != &fx::get_builtin("getitem")) return nullptr;
    const auto found = part_of_.find(node.args().at(0).node());
    return found != part_of_.end() && members_[found->second].is_apart ? &found->second : nullptr;
  }

  // Symbols that a value tells.
  void note_symbols(const Node& node) {
    const Value val = node.val();
    const auto note = [&](const SymInt& v, int dim) {
      if (!v.is_symbolic()) return;
      note_symbol(node, v.node(), dim);
    };
    if (val.is<IntrusivePtr<SymNode>>())
      note_symbol(node, val.get<IntrusivePtr<SymNode>>().get(), SymbolSource::kItself);
    if (val.is<SymInt>()) note(val.get<SymInt>(), SymbolSource::kItself);
    if (!val.is<Tensor>() || !val.get<Tensor>().defined()) return;
    for (int64_t d = 0; d < val.get<Tensor>().dim(); ++d)
      note(val.get<Tensor>().sym_sizes()[static_cast<size_t>(d)], static_cast<int>(d));
    note(val.get<Tensor>().impl()->sym_storage_offset(), SymbolSource::kOffset);
  }

  void note_symbol(const Node& node, const SymNode* value, int dim) {
    const fx::SymExprNode* number = fx::SymExprNode::from(value);
    if (!number || !number->expr()->is_symbol() || symbol_slot_.count(number->expr())) return;
    symbol_slot_[number->expr()] = num_slots_;
    sources_.push_back({slot_of_.at(&node), dim, num_slots_++});
  }

  // Nodes that others need from a part: tensors that leave it, and numbers that run apart.
  void find_outputs() {
    is_given_.resize(members_.size());
    const auto need = [&](const Node& node, size_t by) {
      const auto part = part_of_.find(&node);
      if (part == part_of_.end() || part->second == by) return;
      const bool is_copied = is_number(node.val()) && !members_[part->second].is_apart &&
                             by < members_.size() && !members_[by].is_apart;
      if (is_copied || slot_of_.count(&node)) return;
      slot_of_[&node] = num_slots_++;
      is_given_[part->second].push_back(&node);
    };
    for (size_t i = 0; i < members_.size(); ++i)
      for (const Node* node : members_[i].nodes)
        for (const Node* input : node->inputs().list()) need_all(*input, i, need);
    fx::for_each_node(graph_.output_node()->args().at(0),
                      [&](Node& node) { need(node, members_.size()); });
    for (size_t i = 0; i < members_.size(); ++i)
      if (members_[i].is_apart)
        for (const Node* node : members_[i].nodes) {
          if (!node->val().is<Tensor>() && !is_number(node->val())) continue;
          if (!slot_of_.count(node)) {
            slot_of_[node] = num_slots_++;
            is_given_[i].push_back(node);
          }
          note_symbols(*node);
        }
  }
  // A number of another plan is computed again, and needs what it is made of.
  template <class Need>
  void need_all(const Node& node, size_t by, const Need& need) {
    need(node, by);
    const auto part = part_of_.find(&node);
    if (part == part_of_.end() || part->second == by || slot_of_.count(&node)) return;
    for (const Node* input : node.inputs().list()) need_all(*input, by, need);
  }

  // ---- graphs of the parts ----
  struct Writing {
    Segment part;
    fx::NodeMap map;
    std::unordered_set<const Node*> own;
  };

  Node& add_input(Writing& w, std::string_view name, size_t slot, const Value& val) {
    Node* first = w.part.graph->first();
    while (first->op() == fx::OpCode::Placeholder) first = first->next();
    const fx::InsertBefore before(*w.part.graph, *first);
    Node& made = w.part.graph->placeholder(name);
    made.set_val(val);
    w.part.inputs.push_back(slot);
    return made;
  }

  Arg taken(Writing& w, const Node& node) {
    const auto found = w.map.find(&node);
    if (found != w.map.end()) return found->second;
    Arg made;
    if (node.op() == fx::OpCode::GetAttr) {
      Node& copy = w.part.graph->get_attr(*node.target().name());
      copy.copy_meta(node);
      made = Arg(copy);
    } else if (w.own.count(&node) || !slot_of_.count(&node)) {
      for (const Node* input : node.inputs().list()) taken(w, *input);
      made = Arg(fx::copy_node(node, *w.part.graph, [&](Node& n) { return w.map.at(&n); }));
    } else {
      Node& input = add_input(w, node.name(), slot_of_.at(&node), node.val());
      made = Arg(input);
    }
    w.map[&node] = made;
    return made;
  }

  void write(size_t index) {
    Writing w;
    w.part.graph = make_intrusive<fx::Graph>();
    w.part.is_apart = members_[index].is_apart;
    for (const Node* node : members_[index].nodes) w.own.insert(node);
    for (const Node* node : members_[index].nodes) taken(w, *node);
    std::vector<Arg> out;
    for (const Node* node : is_given_[index]) {
      out.push_back(w.map.at(node));
      w.part.outputs.push_back(slot_of_.at(node));
    }
    if (!w.part.is_apart) add_symbol_inputs(w);
    w.part.graph->output(Arg::tuple(std::move(out)));
    parts_.push_back(std::move(w.part));
  }

  // Every symbol of a plan is an input, whatever its tensors tell.
  void add_symbol_inputs(Writing& w) {
    Symbols used;
    for (const Node& node : *w.part.graph) add_symbols(node.val(), used);
    std::vector<std::pair<std::string, const Expr*>> sorted;
    for (const Expr* symbol : used)
      if (symbol_slot_.count(symbol)) sorted.emplace_back(symbol->name, symbol);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, symbol] : sorted)
      add_input(w, name, symbol_slot_.at(symbol), symbol_value(symbol, *w.part.graph));
  }
  // The number of the symbol's environment.
  static Value symbol_value(const Expr* symbol, const fx::Graph& graph) {
    Value found;
    const auto look = [&](const SymInt& v) {
      if (!found.is_none() || !v.is_symbolic()) return;
      const fx::SymExprNode* node = fx::SymExprNode::from(v.node());
      if (!node) return;
      IntrusivePtr<SymNode> number = make_intrusive<fx::SymExprNode>(node->env_ptr(), symbol);
      found = symbol->kind == SymKind::Int ? Value(SymInt(number)) : Value(number);
    };
    for (const Node& node : graph) {
      const Value val = node.val();
      if (val.is<SymInt>()) look(val.get<SymInt>());
      if (val.is<IntrusivePtr<SymNode>>()) look(SymInt(val.get<IntrusivePtr<SymNode>>()));
      dispatch::for_each_tensor(val, [&](const Tensor& t) {
        if (!t.defined()) return;
        for (const SymInt& size : t.sym_sizes()) look(size);
        for (const SymInt& stride : t.sym_strides()) look(stride);
        look(t.impl()->sym_storage_offset());
      });
    }
    return found;
  }

  // ---- runs ----
  Segments finish() {
    Segments made;
    auto constants = std::make_shared<std::map<std::string, Value>>();
    for (const Node* node : graph_.find(fx::OpCode::GetAttr))
      (*constants)[*node->target().name()] = attributes_(*node->target().name());
    const auto read = [constants](const std::string& name) { return constants->at(name); };
    for (Segment& part : parts_) {
      if (part.is_apart) {
        part.eager = std::make_shared<fx::Plan>(
            *part.graph,
            [&](const IntrusivePtr<fx::Graph>& region) { return compiled_region(region, made); });
        for (const Node& node : *part.graph)
          if (node.op() == fx::OpCode::CallFunction) made.apart.push_back(node.target().text());
      } else {
        part.plan = compile(*part.graph, read, options_);
        made.plans.push_back(part.plan);
      }
    }
    std::vector<Arg> leaves{graph_.output_node()->args().at(0)};
    if (const fx::Compound* compound = leaves[0].compound()) leaves = compound->items;
    std::vector<std::pair<std::optional<size_t>, Value>> results;
    for (const Arg& leaf : leaves) {
      const Node* node = leaf.node();
      if (!node)
        results.emplace_back(std::nullopt, leaf.constant());
      else if (node->op() == fx::OpCode::GetAttr)
        results.emplace_back(std::nullopt, read(*node->target().name()));
      else
        results.emplace_back(slot_of_.at(node), Value());
    }
    made.run = [parts = parts_, sources = sources_, num_slots = num_slots_, results,
                read](const std::vector<Value>& inputs) {
      return run_parts(parts, sources, num_slots, results, read, inputs);
    };
    return made;
  }

  // A region of which the operands do not tell all symbols is interpreted.
  Value compiled_region(const IntrusivePtr<fx::Graph>& region, Segments& made) const {
    if (!tells_symbols(*region)) return fx::region_value(region);
    const auto no_attribute = [](const std::string& name) -> Value {
      throw_error(ErrorKind::Attribute, str("a region reads the attribute ", name));
    };
    Segments inner = compile_segments(*region, no_attribute, options_);
    made.plans.insert(made.plans.end(), inner.plans.begin(), inner.plans.end());
    made.apart.insert(made.apart.end(), inner.apart.begin(), inner.apart.end());
    const auto run = [run = std::move(inner.run), interpreted = fx::region_value(region),
                      repeated = repeated_dims(*region)](fx::Values operands) {
      const bool is_as_told = std::ranges::all_of(repeated, [&](const auto& place) {
        const Tensor& t = operands.at(place.first).template get<Tensor>();
        return t.size(place.second) <= 1 || t.stride(place.second) == 0;
      });
      return is_as_told ? run(operands) : fx::region(interpreted)(std::move(operands));
    };
    return Value(
        IntrusivePtr<dispatch::Opaque>(make_intrusive<fx::RegionValue>(region, std::move(run))));
  }
  // Operands, and their dimensions, that repeat elements: a plan reads one of them for all. What a
  // loop carries is such an operand in its first step alone.
  static std::vector<std::pair<size_t, int64_t>> repeated_dims(const fx::Graph& region) {
    std::vector<std::pair<size_t, int64_t>> found;
    const std::vector<Node*> inputs = region.placeholders();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value val = inputs[i]->val();
      if (!val.is<Tensor>() || !val.get<Tensor>().defined()) continue;
      const Tensor t = val.get<Tensor>();
      for (int64_t d = 0; d < t.dim(); ++d)
        if (const SymInt stride = t.sym_strides()[d]; !stride.is_symbolic())
          if (stride.expect_int() == 0) found.emplace_back(i, d);
    }
    return found;
  }

  template <class Read>
  static std::vector<Value> run_parts(
      const std::vector<Segment>& parts, const std::vector<SymbolSource>& sources, size_t num_slots,
      const std::vector<std::pair<std::optional<size_t>, Value>>& results, const Read& read,
      const std::vector<Value>& inputs) {
    std::vector<Value> slots(num_slots);
    std::vector<bool> is_told(sources.size());
    std::copy(inputs.begin(), inputs.end(), slots.begin());
    std::unordered_set<size_t> known;
    for (size_t i = 0; i < inputs.size(); ++i) known.insert(i);
    const auto tell = [&] {
      for (size_t i = 0; i < sources.size(); ++i) {
        const SymbolSource& source = sources[i];
        if (is_told[i] || !known.count(source.slot)) continue;
        const Value& v = slots[source.slot];
        slots[source.target] = source.dim >= 0 ? Value(v.get<Tensor>().size(source.dim))
                               : source.dim == SymbolSource::kOffset
                                   ? Value(v.get<Tensor>().storage_offset())
                               : v.is<double>() ? v
                                                : Value(v.to_int());
        is_told[i] = true;
      }
    };
    tell();
    for (const Segment& part : parts) {
      std::vector<Value> given;
      for (const size_t slot : part.inputs) given.push_back(slots[slot]);
      std::vector<Value> made;
      if (part.plan)
        made = part.plan->run(given);
      else
        made = *part.eager->run(given, read).template get<std::shared_ptr<Value::List>>();
      for (size_t i = 0; i < part.outputs.size(); ++i) {
        slots[part.outputs[i]] = std::move(made.at(i));
        known.insert(part.outputs[i]);
      }
      tell();
    }
    std::vector<Value> all;
    for (const auto& [slot, constant] : results) all.push_back(slot ? slots[*slot] : constant);
    return all;
  }

  const fx::Graph& graph_;
  fx::AttributeReader attributes_;
  PlanOptions options_;
  std::vector<Members> members_;
  std::unordered_map<const Node*, size_t> part_of_, slot_of_;
  std::unordered_map<const Expr*, size_t> symbol_slot_;
  std::vector<SymbolSource> sources_;
  std::vector<std::vector<const Node*>> is_given_;  // by part
  std::vector<Segment> parts_;
  size_t num_slots_ = 0;
};

}  // namespace

bool tells_symbols(const fx::Graph& graph) {
  Symbols mentioned, told;
  const auto note = [&](const SymInt& v) {
    const fx::SymExprNode* node = v.is_symbolic() ? fx::SymExprNode::from(v.node()) : nullptr;
    if (!node) return;
    const symbolic::Affine form = symbolic::affine_of(node->env().pool(), node->expr());
    if (form.form && form.form->is_symbol() && form.scale > 0) told.insert(form.form);
  };
  for (const Node* input : graph.placeholders()) {
    const Value val = input->val();
    add_symbols(val, mentioned);
    if (val.is<SymInt>()) note(val.get<SymInt>());
    if (!val.is<Tensor>() || !val.get<Tensor>().defined()) continue;
    for (const SymInt& size : val.get<Tensor>().sym_sizes()) note(size);
  }
  return std::all_of(mentioned.begin(), mentioned.end(),
                     [&](const Expr* symbol) { return told.count(symbol) != 0; });
}

Segments compile_segments(const fx::Graph& graph, fx::AttributeReader attributes,
                          const PlanOptions& options) {
  Cutter cutter(graph, attributes, options);
  if (!cutter.is_whole()) return cutter.run();
  Segments made;
  made.plans.push_back(compile(graph, attributes, options));
  made.run = [plan = made.plans[0]](const std::vector<Value>& inputs) { return plan->run(inputs); };
  return made;
}

}  // namespace taeda::inductor
