// Writes to inputs, and results that share memory.
#include "taeda/fx/epilogue.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/autograd/variable.h"
#include "taeda/core/unbacked.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/ops/operators.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::fx {
namespace {

bool is_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

// The argument whose memory the results of a call look at; none where they have their own.
const Node* viewed(const Node& node) {
  if (node.target().builtin()) {
    const bool is_item = node.target().builtin() == &get_builtin("getitem");
    return is_item ? node.args().at(0).node() : nullptr;
  }
  const dispatch::Operator* op = node.target().op();
  if (!op) return nullptr;
  const dispatch::Schema& schema = schema_of(*op);
  for (size_t i = 0; i < schema.arguments.size() && i < node.args().size(); ++i)
    if (!schema.arguments[i].alias.empty()) return node.args()[i].node();
  return nullptr;
}

// Views of a computed value count as that value. Several results of an operator that is no view
// (unsafe_split) are values of their own.
const Node& memory_of(const Node& node) {
  const Node* at = &node;
  while (const Node* next = viewed(*at)) {
    if (at->target().builtin() && !viewed(*next)) break;
    at = next;
  }
  return *at;
}

bool is_given(const Node& node) {
  return node.op() == OpCode::Placeholder || node.op() == OpCode::GetAttr;
}

// Whether the same views of one value give both: a view is made anew after each write.
bool is_same_view(const Node& a, const Node& b) {
  if (&a == &b) return true;
  const Node *from_a = viewed(a), *from_b = viewed(b);
  if (!from_a || !from_b || !is_same_view(*from_a, *from_b)) return false;
  const auto is_same = [&](const Arg& x, const Arg& y) {
    return x == y || (x.node() == from_a && y.node() == from_b);
  };
  return a.target() == b.target() && a.kwargs() == b.kwargs() &&
         std::ranges::equal(a.args(), b.args(), is_same);
}

class Writer {
 public:
  explicit Writer(const TracedProgram& program)
      : program_(program), graph_(program.tracer.graph()) {}

  Epilogue run(const std::vector<Value>& results) {
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (is_tensor(program_.inputs[i])) add_write(i);
    find_shared(results);
    for (const Value& v : results) add_result(v);
    Epilogue made;
    if (is_needed_) made.graph = write();
    made.values = std::move(values_);
    return made;
  }

 private:
  struct Write {
    size_t input;
    bool is_recorded = false;              // by autograd
    std::optional<size_t> value;           // elements that are written
    std::optional<std::vector<Arg>> look;  // new sizes, strides and offset
  };
  // Where a result comes from.
  struct Result {
    enum class Kind : uint8_t { Value, Input, View } kind;
    size_t number;  // of the value or the input; of a view, that of views_
  };
  struct View {
    const Node* node;  // of the graph; null where the memory is told by `look`
    Result base;
    std::vector<Arg> look;
    bool is_detached;    // from the base's history
    bool is_unrecorded;  // requires gradients with the base, and has none
    bool is_cut;         // has gradients, which an unrecorded view of the base ends
  };

  const Tensor& input(size_t i) const { return program_.inputs[i].get<Tensor>(); }
  const Aliased* memory(const Tensor& t) { return program_.functional.memory_of(t); }
  Node* node_of(const Tensor& value) { return program_.tracer.arg_of(Value(value)).node(); }

  // A tensor that nothing else lies in: a copy where the graph has it elsewhere, too.
  size_t add_value(Tensor value, Tensor root) {
    const Node* node = node_of(value);
    const Node& at = memory_of(*node);
    if (is_given(at) || !taken_.insert(&at).second) value = program_.copy(value);
    return add_value(program_.tracer.arg_of(Value(value)), std::move(root));
  }
  size_t add_value(Arg arg, Tensor root) {
    values_.push_back({std::move(arg), std::move(root)});
    return values_.size() - 1;
  }

  // As the elements lie in the memory of input `i`, which may be a part of the input's storage
  // inside (Note [Shared inputs]).
  std::vector<Arg> look_of(const Tensor& t, size_t i) {
    const SymInt moved =
        program_.values[i].get<Tensor>().impl()->sym_storage_offset() - program_.looks[i].offset;
    const auto list = [&](SymIntList numbers) {
      std::vector<Arg> items;
      for (const SymInt& n : numbers) items.push_back(program_.tracer.arg_of(Value(n)));
      return Arg::list(std::move(items));
    };
    return {list(t.sym_sizes()), list(t.sym_strides()),
            program_.tracer.arg_of(Value(t.impl()->sym_storage_offset() + moved))};
  }

  void add_write(size_t i) {
    const Tensor& t = input(i);
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, memory(t) == program_.memories[i], "input ", i,
                     " gets the memory of another tensor in the program (set_, .data = ...)");
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                     !program_.had_gradients[i] || autograd::requires_grad(t), "input ", i,
                     " loses its history in the program (detach_)");
    Write write{i};
    if (Look(t) != program_.looks[i]) write.look = look_of(t, i);
    const bool is_written = program_.functional.is_written(t);
    if (!write.look && !is_written) return;
    is_needed_ = true;
    write.is_recorded = written_history(t) != program_.histories[i];
    const Tensor value = program_.value_of(Value(t)).get<Tensor>();
    final_[node_of(value)] = i;
    changed_.insert(i);
    if (is_written) {
      write.value = add_value(value, write.is_recorded && has_gradient(t) ? t : Tensor());
    }
    writes_.push_back(std::move(write));
  }

  // Memories of their own in which several results lie.
  void find_shared(const std::vector<Value>& results) {
    std::unordered_map<const Aliased*, std::unordered_set<const TensorImpl*>> lying;
    for (const Value& v : results)
      if (is_tensor(v)) lying[memory(v.get<Tensor>())].insert(v.get<Tensor>().impl());
    for (const Value& v : program_.inputs)
      if (is_tensor(v)) lying.erase(memory(v.get<Tensor>()));
    for (const auto& [at, tensors] : lying)
      if (tensors.size() > 1) shared_.insert(at);
    // What an unrecorded view is a view of tells that it requires gradients.
    for (const Value& v : results)
      if (is_tensor(v) && is_unrecorded(v.get<Tensor>()) && lying.count(memory(v.get<Tensor>())))
        shared_.insert(memory(v.get<Tensor>()));
    // A result that is the whole memory is a value; so is the hidden tensor that others look at.
    for (const Value& v : results) {
      if (!is_tensor(v) || !shared_.count(memory(v.get<Tensor>()))) continue;
      const Tensor& t = v.get<Tensor>();
      if (!program_.functional.is_view(t)) bases_.emplace(memory(t), t);
    }
    for (const Value& v : results) {
      if (!is_tensor(v) || !shared_.count(memory(v.get<Tensor>()))) continue;
      const Tensor& t = v.get<Tensor>();
      const TensorImpl* base = t.impl()->view_base();
      if (base && !bases_.count(memory(t)))
        bases_.emplace(memory(t),
                       Tensor(IntrusivePtr<TensorImpl>::share(const_cast<TensorImpl*>(base))));
    }
    for (const Value& v : results)
      if (is_tensor(v) && shared_.count(memory(v.get<Tensor>())) && is_root(v.get<Tensor>()))
        bases_.emplace(memory(v.get<Tensor>()), v.get<Tensor>());
  }

  // Whether autograd knows nothing that the tensor is a view of, whatever its operator made it of:
  // the product behind a linear layer is one.
  static bool is_root(const Tensor& t) { return has_gradient(t) && !t.impl()->view_base(); }

  // The value that results of one memory are views of.
  size_t base_value(const Tensor& t) {
    const auto found = base_values_.find(memory(t));
    if (found != base_values_.end()) return found->second;
    const auto base = bases_.find(memory(t));
    const bool has_tensor = base != bases_.end();
    const bool is_rooted = has_tensor && has_gradient(base->second);
    const Tensor value = has_tensor ? program_.value_of(Value(base->second)).get<Tensor>()
                                    : program_.functional.whole(t);
    const Node* node = node_of(value);
    const size_t number = add_value(value, is_rooted ? base->second : Tensor());
    of_value_[node] = number;
    return base_values_[memory(t)] = number;
  }

  void add_result(const Value& v) {
    if (!is_tensor(v)) return add_plain(v);
    const Tensor& t = v.get<Tensor>();
    const auto known = results_of_.find(t.impl());
    if (known != results_of_.end()) {
      is_needed_ = true;
      results_.push_back(known->second);
      return;
    }
    results_.push_back(result_of(t));
    results_of_[t.impl()] = results_.back();
  }

  void add_plain(const Value& v) {
    results_.push_back({Result::Kind::Value, add_value(program_.tracer.arg_of(v), Tensor())});
  }

  // What is a view for autograd, and nothing else, is made again from what it looks at. A view that
  // a custom function gave has the function's gradient, and one that the program gave a hook goes
  // through the hook.
  static bool is_plain_view(const Tensor& t) {
    return !has_gradient(t) ||
           (t.impl()->view_origin() != ViewOrigin::CustomFunction && !is_hooked_view(t));
  }
  static bool is_hooked_view(const Tensor& t) {
    if (!has_gradient(t) || autograd::is_leaf(t) || !t.impl()->view_base()) return false;
    const autograd::Edge edge = autograd::gradient_edge(t);
    const autograd::NodeHooks* hooks = edge.function->hooks();
    return hooks && std::ranges::any_of(hooks->tensor, [&](const auto& hook) {
             return hook.input == edge.input_nr;
           });
  }
  // A view that was made without recording requires gradients with its base, and has none. Others
  // have that of a base which was written to since.
  static bool is_unrecorded(const Tensor& t) {
    return t.impl()->view_base() && autograd::requires_grad(t) && !has_gradient(t);
  }
  // A recorded view of such a one has gradients, and the base gets none of them.
  static bool is_cut(const Tensor& t) {
    const ViewOrigin origin = t.impl()->view_origin();
    return t.impl()->view_base() && autograd::has_node(t) &&
           (origin == ViewOrigin::InNoGrad || origin == ViewOrigin::InInference);
  }
  static bool has_gradient(const Tensor& t) {
    if (!autograd::requires_grad(t)) return false;
    const bool is_plain = t.impl()->view_origin() == ViewOrigin::Default;
    return t.impl()->requires_grad_flag() ||
           (is_plain ? autograd::grad_fn(t) != nullptr : autograd::has_node(t));
  }

  Result result_of(const Tensor& t) {
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (is_tensor(program_.inputs[i]) && input(i).is_same(t)) return from_input(i);
    if (const std::optional<size_t> i = is_plain_view(t) ? holder_of(t) : std::nullopt)
      return view_of(t, {Result::Kind::Input, *i}, autograd::requires_grad(input(*i)));
    const auto base = bases_.find(memory(t));
    const bool is_base = base != bases_.end() && base->second.is_same(t);
    if (shared_.count(memory(t)) && (is_base || !is_root(t)) && !is_hooked_view(t)) {
      const Result from{Result::Kind::Value, base_value(t)};
      return is_base ? from : view_of(t, from, values_[from.number].root.defined());
    }
    const Tensor value = program_.value_of(Value(t)).get<Tensor>();
    return {Result::Kind::Value, add_value(value, has_gradient(t) ? t : Tensor())};
  }

  // The input in whose memory a tensor lies. Of several that share it (Note [Shared inputs]) one
  // that the tensor is a view of, else one that covers it: their storages may be parts of the
  // memory.
  std::optional<size_t> holder_of(const Tensor& t) {
    std::vector<size_t> holders;
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (is_tensor(program_.inputs[i]) && memory(input(i)) == memory(t)) holders.push_back(i);
    if (holders.empty()) return std::nullopt;
    const Node& node = *node_of(program_.value_of(Value(t)).get<Tensor>());
    const auto is_related = [&](size_t i) {
      return is_alike(t, i) && base_of(input(i)) == base_of(t);
    };
    const auto has_steps = [&](size_t i) {
      return steps_from({Result::Kind::Input, i}, node).has_value();
    };
    const auto is_around = [&](size_t i) { return is_alike(t, i) && covers(input(i), t); };
    const auto score = [&](size_t i) {
      return 8 * is_related(i) + 4 * has_steps(i) + 2 * is_around(i) + is_alike(t, i);
    };
    return *std::ranges::max_element(holders, {}, score);
  }
  // Whether sizes, strides and an offset tell how a tensor looks at the memory of input `i`.
  bool is_alike(const Tensor& t, size_t i) const {
    return t.dtype() == input(i).dtype() && t.is_conj() == input(i).is_conj() &&
           t.is_neg() == input(i).is_neg();
  }
  static const TensorImpl* base_of(const Tensor& t) {
    const TensorImpl* base = t.impl()->view_base();
    return base ? base : t.impl();
  }
  static bool covers(const Tensor& whole, const Tensor& part) {
    const auto end = [](const Tensor& t) {
      return gradients::storage_reach(t.sym_sizes(), t.sym_strides(),
                                      t.impl()->sym_storage_offset());
    };
    return is_known(SymOp::Le, whole.impl()->sym_storage_offset(),
                    part.impl()->sym_storage_offset()) &&
           is_known(SymOp::Le, end(part), end(whole));
  }

  Result from_input(size_t i) {
    is_needed_ = true;
    return {Result::Kind::Input, i};
  }

  // Whether autograd knows a tensor as a view of the base, and not of another one that lies there.
  bool is_view_of(const Tensor& t, Result base) {
    const TensorImpl* const root = t.impl()->view_base();
    const auto own = bases_.find(memory(t));
    const bool is_input = base.kind == Result::Kind::Input;
    if (!root || (!is_input && own == bases_.end())) return root != nullptr;
    const TensorImpl* const at = (is_input ? input(base.number) : own->second).impl();
    return root == at || root == at->view_base();
  }

  static constexpr auto kInput = Result::Kind::Input;
  Result view_of(const Tensor& t, Result base, bool base_requires_grad) {
    is_needed_ = true;
    const bool is_view = is_view_of(t, base), has_none = !has_gradient(t);
    // Views of the input have the input's history. Two histories of one memory would take two
    // writes, of which each counts for what others saved.
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, is_view || has_none || base.kind != kInput,
                     "a result lies in the memory of input ", base.number,
                     ", from which it was detached, and got a history of its own by a write");
    const bool is_unrecorded = base_requires_grad && is_view && Writer::is_unrecorded(t);
    // What detach gives is no view for autograd, and neither are views of it.
    const bool is_detached = has_none && !is_unrecorded && (base_requires_grad || !is_view);
    const bool is_cut = base_requires_grad && is_view && Writer::is_cut(t);
    View view{node_of(program_.value_of(Value(t)).get<Tensor>()),
              base,
              {},
              is_detached,
              is_unrecorded,
              is_cut};
    if (!follow(*view.node, base)) {
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                       base.kind == Result::Kind::Input && is_alike(t, base.number),
                       "a result looks at another one in a way that is not compiled");
      view.node = nullptr;
      view.look = look_of(t, base.number);
      note_numbers(view.look);
    }
    views_.push_back(std::move(view));
    return {Result::Kind::View, views_.size() - 1};
  }

  // The views that lead from the base to the node, if they do, and the node that they begin with.
  struct Steps {
    std::vector<const Node*> nodes;
    const Node* from;
  };
  std::optional<Steps> steps_from(Result base, const Node& node) {
    Steps steps{{}, &node};
    while (!is_base(*steps.from, base)) {
      steps.nodes.push_back(steps.from);
      steps.from = viewed(*steps.from);
      if (!steps.from) return std::nullopt;
    }
    return steps;
  }
  // Whether there are such views; notes what they need.
  bool follow(const Node& node, Result base) {
    const auto steps = steps_from(base, node);
    if (!steps) return false;
    if (base.kind == Result::Kind::Value)
      of_value_.emplace(steps->from, base.number);
    else if (changed_.count(base.number))
      final_.emplace(steps->from, base.number);
    for (const Node* step : steps->nodes) {
      views_steps_.insert(step);
      for (const Node* argument : step->inputs().list())
        if (argument != viewed(*step)) note_number(*argument);
    }
    return true;
  }
  bool is_base(const Node& node, Result base) {
    const auto is_one = [&](const auto& known) {
      return known.second == base.number && is_same_view(node, *known.first);
    };
    if (base.kind == Result::Kind::Value) return std::ranges::any_of(of_value_, is_one);
    if (changed_.count(base.number)) return std::ranges::any_of(final_, is_one);
    return &node == node_of(program_.values[base.number].get<Tensor>());
  }

  void note_numbers(const std::vector<Arg>& args) {
    for (const Arg& arg : args) for_each_node(arg, [&](Node& node) { note_number(node); });
  }
  // Numbers that inputs tell are computed again, others are values of the graph.
  void note_number(const Node& node) {
    if (node.op() == OpCode::Placeholder || of_value_.count(&node)) return;
    if (is_told_by_inputs(node)) {
      numbers_.insert(&node);
      for (const Node* n : node.inputs().list()) note_number(*n);
    } else {
      of_value_[&node] = add_value(Arg(const_cast<Node*>(&node)), Tensor());
    }
  }
  static bool is_told_by_inputs(const Node& node) {
    if (node.op() == OpCode::Placeholder) return true;
    if (is_tensor(node.val())) return false;
    const std::vector<Node*> inputs = node.inputs().list();
    return std::all_of(inputs.begin(), inputs.end(),
                       [](const Node* n) { return is_told_by_inputs(*n); });
  }

  // ---- the graph ----
  IntrusivePtr<Graph> write() {
    for (const Write& w : writes_)
      if (w.look) note_numbers(*w.look);
    made_ = make_intrusive<Graph>();
    std::vector<Node*> inputs, values;
    const std::vector<Node*> given = graph_.placeholders();
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      inputs.push_back(&made_->placeholder(given[i]->name()));
      map_[given[i]] = Arg(inputs.back());
    }
    for (size_t i = 0; i < values_.size(); ++i)
      values.push_back(&made_->placeholder(str("value_", i)));
    for (const auto& [node, number] : of_value_) map_[node] = Arg(values[number]);
    copy_nodes_in(numbers_);
    for (const Write& w : writes_) write_input(w, *inputs[w.input], values);
    // Views look at what the inputs hold now.
    for (const auto& [node, i] : final_) map_[node] = Arg(inputs[i]);
    copy_nodes_in(views_steps_);
    std::vector<Arg> out;
    for (const Result& r : results_) {
      if (r.kind == Result::Kind::Value) out.emplace_back(values[r.number]);
      if (r.kind == Result::Kind::Input) out.emplace_back(inputs[r.number]);
      if (r.kind == Result::Kind::View) out.push_back(write_view(views_[r.number], inputs, values));
    }
    made_->output(Arg::tuple(std::move(out)));
    return made_;
  }

  Arg moved(const Arg& arg) const {
    return map_nodes(arg, [&](Node& node) { return map_.at(&node); });
  }
  void copy_nodes_in(const std::unordered_set<const Node*>& chosen) {
    if (chosen.empty()) return;
    for (const Node& node : graph_) {
      if (!chosen.count(&node) || map_.count(&node)) continue;
      map_[&node] = Arg(copy_node(node, *made_, [&](Node& n) { return map_.at(&n); }));
    }
  }

  void write_input(const Write& w, Node& input, const std::vector<Node*>& values) {
    if (w.look) {
      std::vector<Arg> args{Arg(input)};
      for (const Arg& arg : *w.look) args.push_back(moved(arg));
      made_->call(ops::as_strided_, std::move(args));
    }
    if (!w.value) return;
    Node& target = w.is_recorded ? input : made_->call(ops::detach, {Arg(input)});
    made_->call(ops::copy_, {Arg(target), Arg(values[*w.value])});
  }

  Arg unrecorded(Node& view) {
    const auto region = make_intrusive<Graph>();
    Node& given = region->placeholder("view");
    region->output(Arg::tuple({Arg(region->call(ops::alias, {Arg(given)}))}));
    Node& made = made_->call(get_builtin("wrap_with_set_grad_enabled"),
                             {Arg(false), Arg(region), Arg(view)});
    return Arg(made_->call(get_builtin("getitem"), {Arg(made), Arg(int64_t{0})}));
  }

  Arg write_view(const View& view, const std::vector<Node*>& inputs,
                 const std::vector<Node*>& values) {
    const bool is_input = view.base.kind == Result::Kind::Input;
    Node* const base = (is_input ? inputs : values)[view.base.number];
    Node* made = nullptr;
    if (view.node) {
      made = map_.at(view.node).node();
    } else {
      std::vector<Arg> args{Arg(base)};
      for (const Arg& arg : view.look) args.push_back(moved(arg));
      made = &made_->call(ops::as_strided, std::move(args));
    }
    if (view.is_detached) return Arg(made_->call(ops::detach, {Arg(made)}));
    if (view.is_unrecorded) return unrecorded(*made);
    if (view.is_cut) return Arg(made_->call(ops::alias, {unrecorded(*made)}));
    // The graph has one value for tensors that are several in the program.
    const bool is_taken = made == base || !given_.insert(made).second;
    return Arg(is_taken ? made_->call(ops::alias, {Arg(made)}) : *made);
  }

  const TracedProgram& program_;
  Graph& graph_;
  bool is_needed_ = false;
  std::vector<Epilogue::Given> values_;
  std::vector<Write> writes_;
  std::vector<Result> results_;
  std::vector<View> views_;
  std::unordered_map<const TensorImpl*, Result> results_of_;
  std::unordered_set<const Node*> taken_;
  std::unordered_map<const Node*, size_t> final_;     // nodes whose values inputs hold at the end
  std::unordered_set<size_t> changed_;                // inputs
  std::unordered_map<const Node*, size_t> of_value_;  // nodes that are values of the graph
  std::unordered_set<const Aliased*> shared_;
  std::unordered_map<const Aliased*, Tensor> bases_;  // of the program
  std::unordered_map<const Aliased*, size_t> base_values_;
  std::unordered_set<const Node*> numbers_, views_steps_;
  IntrusivePtr<Graph> made_;
  std::unordered_set<const Node*> given_;  // views that are results
  NodeMap map_;
};

}  // namespace

Epilogue write_epilogue(const TracedProgram& program, const std::vector<Value>& results) {
  return Writer(program).run(results);
}

}  // namespace taeda::fx
