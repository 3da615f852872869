// Writes to inputs, and results that share memory.
#include "taeda/fx/epilogue.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/autograd/variable.h"
#include "taeda/core/unbacked.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/epilogue_plan.h"
#include "taeda/fx/view_kinds.h"
#include "taeda/ops/operators.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::fx {

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

const Arg* place_named_by(const Node& view) {
  const bool is_one = view.target().op() == &ops::as_strided && view.args().size() > 3;
  return is_one && !view.args()[3].is_none() ? &view.args()[3] : nullptr;
}

namespace {

bool is_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

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

class Planner {
 public:
  explicit Planner(const TracedProgram& program) : program_(program) {}

  EpiloguePlan run(const std::vector<Value>& results) {
    for (const Value& v : results)
      if (is_tensor(v) && is_older_than_writes(v.get<Tensor>()))
        older_.insert(v.get<Tensor>().impl());
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (is_tensor(program_.inputs[i])) add_write(i);
    find_shared(results);
    for (const Value& v : results) add_result(v);
    for (const Write& w : plan_.writes)
      if (w.look) note_numbers(*w.look);
    return std::move(plan_);
  }

 private:
  using Write = EpiloguePlan::Write;
  using Result = EpiloguePlan::Result;
  using View = EpiloguePlan::View;

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
    plan_.values.push_back({std::move(arg), std::move(root)});
    return plan_.values.size() - 1;
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
    const bool has_count = t.impl()->has_version_counter();
    const bool is_counted = has_count && t.impl()->version() != program_.versions[i];
    if (!write.look && !is_written) {
      if (is_counted) plan_.counted.push_back(i);
      plan_.is_needed |= is_counted;
      return;
    }
    plan_.is_needed = true;
    write.is_recorded = written_history(t) != program_.histories[i];
    write.is_counted = is_counted || !has_count;
    const Tensor value = program_.value_of(Value(t)).get<Tensor>();
    final_[node_of(value)] = i;
    changed_.insert(i);
    write.is_first = is_written && write.look && !reaches(t, program_.looks[i]);
    if (write.is_first) {
      const Tensor whole = program_.functional.whole(t);
      TAEDA_CHECK_KIND(
          ErrorKind::NotImplemented,
          !write.is_recorded && whole.sym_sizes() == SymIntList(program_.looks[i].sizes), "input ",
          i, " is written to and then looks at less of its memory");
      write.value = add_value(whole, Tensor());
    } else if (is_written) {
      write.value = add_value(value, write.is_recorded && has_gradient(t) ? t : Tensor());
    }
    if (write.value && is_shared_input(i)) write.single = single_dimensions(t);
    plan_.writes.push_back(std::move(write));
  }

  bool is_shared_input(size_t i) {
    for (size_t j = 0; j < program_.inputs.size(); ++j)
      if (j != i && is_tensor(program_.inputs[j]) && memory(input(j)) == memory(input(i)))
        return true;
    return false;
  }
  // What is one element along a dimension (expand) has what another input was written with.
  static std::vector<int64_t> single_dimensions(const Tensor& t) {
    std::vector<int64_t> found;
    for (int64_t d = 0; d < t.dim(); ++d)
      if (t.sym_strides()[d] == SymInt(0) && t.sym_sizes()[d] != SymInt(1)) found.push_back(d);
    return found;
  }

  // Whether as many elements are looked at as before.
  static bool reaches(const Tensor& t, const Look& before) {
    SymInt now = 1, earlier = 1;
    for (const SymInt& size : t.sym_sizes()) now = now * size;
    for (const SymInt& size : before.sizes) earlier = earlier * size;
    return is_known(SymOp::Le, earlier, now);
  }
  bool is_older(const Tensor& t) const { return older_.count(t.impl()) != 0; }
  // Whether autograd refuses to look at what became of a view.
  bool is_refused(const Tensor& t) const {
    return is_older(t) && t.impl()->view_origin() != ViewOrigin::Default;
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
    // What an unrecorded view is a view of tells that it requires gradients. Writes to a view that
    // a custom function gave are refused.
    for (const Value& v : results) {
      if (!is_tensor(v) || !lying.count(memory(v.get<Tensor>()))) continue;
      const Tensor& t = v.get<Tensor>();
      if (is_refused(t) || is_unrecorded(t) ||
          t.impl()->view_origin() == ViewOrigin::CustomFunction)
        shared_.insert(memory(t));
    }
    // A result that is the whole memory is a value; so is the hidden tensor that others look at,
    // and one of which autograd knows nothing that it is a view of.
    std::vector<Tensor> sharing;
    for (const Value& v : results)
      if (is_tensor(v) && shared_.count(memory(v.get<Tensor>())))
        sharing.push_back(v.get<Tensor>());
    for (const Tensor& t : sharing)
      if (!program_.functional.is_view(t)) bases_.emplace(memory(t), t);
    const auto add_base = [&](const Tensor& base) {
      const auto is_seen_from = [&](const Tensor& t) {
        return memory(t) != memory(base) ||
               (is_view_of_node(t, base) && is_view_of_node(held_by(base_of(t)), base));
      };
      if (!bases_.count(memory(base)) && std::ranges::all_of(sharing, is_seen_from))
        bases_.emplace(memory(base), base);
    };
    for (const Tensor& t : sharing)
      if (t.impl()->view_base()) add_base(held_by(t.impl()->view_base()));
    for (const Tensor& t : sharing)
      if (is_root(t)) add_base(t);
  }

  // Whether views of the graph lead from what the base holds to what the tensor does.
  bool is_view_of_node(const Tensor& t, const Tensor& base) {
    const Node& from = *node_of(program_.value_of(Value(base)).get<Tensor>());
    const Node* at = node_of(program_.value_of(Value(t)).get<Tensor>());
    while (at && !is_same_view(*at, from)) at = viewed(*at);
    return at != nullptr;
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
    plan_.of_value[node] = number;
    return base_values_[memory(t)] = number;
  }

  void add_result(const Value& v) {
    if (!is_tensor(v)) return add_plain(v);
    const Tensor& t = v.get<Tensor>();
    const auto known = results_of_.find(t.impl());
    if (known != results_of_.end()) {
      plan_.is_needed = true;
      plan_.results.push_back(known->second);
      return;
    }
    plan_.results.push_back(result_of(t));
    results_of_[t.impl()] = plan_.results.back();
  }

  void add_plain(const Value& v) {
    plan_.results.push_back({Result::Kind::Value, add_value(program_.tracer.arg_of(v), Tensor())});
  }

  Result result_of(const Tensor& t) {
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (is_tensor(program_.inputs[i]) && input(i).is_same(t)) return from_input(i);
    if (const std::optional<size_t> i = holder_of(t)) return part_of(t, {Result::Kind::Input, *i});
    if (shared_.count(memory(t))) {
      const Result from{Result::Kind::Value, base_value(t)};
      const auto base = bases_.find(memory(t));
      return base != bases_.end() && base->second.is_same(t) ? from : part_of(t, from);
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
  static Tensor held_by(const TensorImpl* t) {
    return Tensor(IntrusivePtr<TensorImpl>::share(const_cast<TensorImpl*>(t)));
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
    plan_.is_needed = true;
    return {Result::Kind::Input, i};
  }

  // A result in the memory of the base: a view of it, or of what was detached from it.
  Result part_of(const Tensor& t, Result base) {
    plan_.is_needed = true;
    const TensorImpl* const root = base_of(t);
    if (is_root_of(root, base)) return view_of(t, base);
    const Tensor held = held_by(root);
    const Result from = detached_root(held, base);
    return held.is_same(t) ? from : view_of(t, from);
  }

  // Whether views of this tensor are views of the base, as autograd knows them.
  bool is_root_of(const TensorImpl* root, Result base) const {
    if (base.kind == Result::Kind::Input) return root == base_of(input(base.number));
    const auto own = bases_.find(program_.functional.memory_of(held_by(root)));
    return own != bases_.end() && root == base_of(own->second);
  }

  // What was detached from the base and has no history, or one of its own by a write.
  Result detached_root(const Tensor& root, Result base) {
    const auto known = roots_.find(root.impl());
    if (known != roots_.end()) return known->second;
    View view = look_from(root, base);
    view.kind = View::Kind::Detached;
    // Several of them may count their writes together, and not with the base's.
    const auto alike = std::ranges::find_if(roots_, [&](const auto& other) {
      return memory(held_by(other.first)) == memory(root) &&
             count_writes_together(held_by(other.first), root);
    });
    const auto own = bases_.find(memory(root));
    if (base.kind == Result::Kind::Input)
      view.is_counted = count_writes_together(root, input(base.number));
    else if (own != bases_.end())
      view.is_counted = count_writes_together(root, own->second);
    if (!view.is_counted && alike != roots_.end() && steps_from(alike->second, *view.node)) {
      view = look_from(root, alike->second);
      view.kind = View::Kind::Detached;
    }
    if (has_gradient(root)) {
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !autograd::is_leaf(root),
                       "a leaf that the program made of the memory of input ", base.number);
      view.history = add_value(program_.value_of(Value(root)).get<Tensor>(), root);
    }
    plan_.views.push_back(std::move(view));
    return roots_[root.impl()] = {Result::Kind::View, plan_.views.size() - 1};
  }

  Result view_of(const Tensor& t, Result base) {
    View view = look_from(t, base);
    view.is_older = is_older(t);
    const bool is_refused = this->is_refused(t);
    if (is_refused || has_own_gradient(t)) {
      view.kind = View::Kind::Own;
      view.origin = t.impl()->view_origin();
      if (!is_refused && has_gradient(t))
        view.history = add_value(program_.value_of(Value(t)).get<Tensor>(), t);
    } else if (requires_grad(base)) {
      if (is_unrecorded(t)) view.kind = View::Kind::Unrecorded;
      if (is_cut(t)) view.kind = View::Kind::Cut;
    } else if (program_.begins_with_grad && is_of_scope(t)) {
      view.kind = View::Kind::Own;
      view.origin = t.impl()->view_origin();
    }
    plan_.views.push_back(std::move(view));
    return {Result::Kind::View, plan_.views.size() - 1};
  }

  // Whether a view was made without recording, where that is not so for all that the program does.
  static bool is_of_scope(const Tensor& t) {
    const ViewOrigin origin = t.impl()->view_origin();
    return origin == ViewOrigin::InNoGrad || origin == ViewOrigin::InInference;
  }

  bool requires_grad(Result base) const {
    switch (base.kind) {
      case Result::Kind::Input: return autograd::requires_grad(input(base.number));
      case Result::Kind::Value: return plan_.values[base.number].root.defined();
      case Result::Kind::View: return plan_.views[base.number].history.has_value();
    }
    return false;
  }

  View look_from(const Tensor& t, Result base) {
    View view{node_of(program_.value_of(Value(t)).get<Tensor>()), base};
    Result origin = base;
    while (origin.kind == Result::Kind::View) origin = plan_.views[origin.number].base;
    const bool is_of_input = origin.kind == Result::Kind::Input;
    if (auto steps = steps_from(base, *view.node)) {
      view.steps = std::move(*steps);
      for (const Node* step : view.steps)
        for (const Node* argument : step->inputs().list())
          if (argument != viewed(*step)) note_number(*argument);
      if (is_of_input) view.moved = way_to_input(t, view, origin.number);
      return view;
    }
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, is_of_input && is_alike(t, origin.number),
                     "a result looks at another one in a way that is not compiled");
    view.node = nullptr;
    view.look = look_of(t, origin.number);
    note_numbers(view.look);
    return view;
  }

  // The views that lead from the base to the node, if they do.
  std::optional<std::vector<const Node*>> steps_from(Result base, const Node& node) {
    std::vector<const Node*> steps;
    for (const Node* at = &node; !is_base(*at, base);) {
      steps.push_back(at);
      at = viewed(*at);
      if (!at) return std::nullopt;
    }
    return steps;
  }
  // How much farther in the storage of input `i` a tensor lies than its value in the graph does,
  // where that is asked for.
  int64_t way_to_input(const Tensor& t, const View& view, size_t i) {
    if (std::ranges::none_of(view.steps, [](const Node* step) { return place_named_by(*step); }))
      return 0;
    const auto offset_of = [](const Value& v) {
      return v.get<Tensor>().impl()->sym_storage_offset();
    };
    const SymInt moved = t.impl()->sym_storage_offset() + offset_of(program_.values[i]) -
                         program_.looks[i].offset - offset_of(view.node->val());
    if (is_known(SymOp::Eq, moved, 0)) return 0;
    const auto is_number = [](const Node* step) {
      return !place_named_by(*step) || !place_named_by(*step)->is_node();
    };
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                     !moved.is_symbolic() && std::ranges::all_of(view.steps, is_number),
                     "as_strided of input ", i, " at a place that changes");
    return moved.expect_int();
  }
  bool is_base(const Node& node, Result base) {
    const auto is_one = [&](const auto& known) {
      return known.second == base.number && is_same_view(node, *known.first);
    };
    if (base.kind == Result::Kind::View) {
      const Node* root = plan_.views[base.number].node;
      return root && is_same_view(node, *root);
    }
    if (base.kind == Result::Kind::Value) return std::ranges::any_of(plan_.of_value, is_one);
    if (changed_.count(base.number)) return std::ranges::any_of(final_, is_one);
    return &node == node_of(program_.values[base.number].get<Tensor>());
  }

  void note_numbers(const std::vector<Arg>& args) {
    for (const Arg& arg : args) for_each_node(arg, [&](Node& node) { note_number(node); });
  }
  // Numbers that inputs tell are computed again, others are values of the graph.
  void note_number(const Node& node) {
    if (node.op() == OpCode::Placeholder || plan_.of_value.count(&node)) return;
    if (is_told_by_inputs(node)) {
      plan_.numbers.insert(&node);
      for (const Node* n : node.inputs().list()) note_number(*n);
    } else {
      plan_.of_value[&node] = add_value(Arg(const_cast<Node*>(&node)), Tensor());
    }
  }
  static bool is_told_by_inputs(const Node& node) {
    if (node.op() == OpCode::Placeholder) return true;
    if (is_tensor(node.val())) return false;
    const std::vector<Node*> inputs = node.inputs().list();
    return std::all_of(inputs.begin(), inputs.end(),
                       [](const Node* n) { return is_told_by_inputs(*n); });
  }

  const TracedProgram& program_;
  EpiloguePlan plan_;
  std::unordered_map<const TensorImpl*, Result> results_of_;
  std::unordered_set<const Node*> taken_;
  std::unordered_map<const Node*, size_t> final_;  // nodes whose values inputs hold at the end
  std::unordered_set<size_t> changed_;             // inputs
  std::unordered_set<const Aliased*> shared_;
  std::unordered_map<const Aliased*, Tensor> bases_;  // of the program
  std::unordered_map<const Aliased*, size_t> base_values_;
  std::unordered_set<const TensorImpl*> older_;  // results that are older than the last write
  std::unordered_map<const TensorImpl*, Result> roots_;  // views that are detached
};

}  // namespace

Epilogue write_epilogue(const TracedProgram& program, const std::vector<Value>& results) {
  EpiloguePlan plan = Planner(program).run(results);
  Epilogue made;
  if (plan.is_needed) made.graph = epilogue_graph(program, plan);
  made.values = std::move(plan.values);
  return made;
}

}  // namespace taeda::fx
