// The graph of an epilogue.
#include <map>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/epilogue_plan.h"
#include "taeda/ops/operators.h"

namespace taeda::fx {
namespace {

class GraphWriter {
 public:
  GraphWriter(const TracedProgram& program, const EpiloguePlan& plan)
      : traced_(program.tracer.graph()), plan_(plan), made_(make_intrusive<Graph>()) {
    const std::vector<Node*> given = traced_.placeholders();
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      inputs_.push_back(&made_->placeholder(given[i]->name()));
      map_[given[i]] = Arg(inputs_.back());
    }
    for (size_t i = 0; i < plan.values.size(); ++i)
      values_.push_back(&made_->placeholder(str("value_", i)));
    for (const auto& [node, number] : plan.of_value) map_[node] = Arg(values_[number]);
    views_.resize(plan.views.size());
  }

  IntrusivePtr<Graph> run() {
    copy_numbers();
    for (const Write& w : plan_.writes) {
      if (w.is_first) write_input(w);
      if (w.look) change_look(w);
    }
    write_views([](const View& view) { return view.kind == View::Kind::Detached; });
    write_views([](const View& view) { return view.is_older; });
    write_memory();
    write_views([](const View&) { return true; });
    std::vector<Arg> out;
    for (const Result& r : plan_.results) out.push_back(made_of(r));
    made_->output(Arg::tuple(std::move(out)));
    return made_;
  }

 private:
  using Write = EpiloguePlan::Write;
  using Result = EpiloguePlan::Result;
  using View = EpiloguePlan::View;

  Arg made_of(Result r) const {
    switch (r.kind) {
      case Result::Kind::Input: return Arg(inputs_[r.number]);
      case Result::Kind::Value: return Arg(values_[r.number]);
      case Result::Kind::View: return Arg(views_[r.number]);
    }
    return {};
  }
  Arg moved(const Arg& arg) const {
    return map_nodes(arg, [&](Node& node) { return map_.at(&node); });
  }
  void copy_numbers() {
    if (plan_.numbers.empty()) return;
    for (const Node& node : traced_) {
      if (!plan_.numbers.count(&node) || map_.count(&node)) continue;
      map_[&node] = Arg(copy_node(node, *made_, [&](Node& n) { return map_.at(&n); }));
    }
  }

  // ---- writes ----
  // What counts as a write for the views that are older comes with them.
  void write_memory() {
    for (const Write& w : plan_.writes)
      if (w.value && !w.is_first) write_input(w);
    std::unordered_set<const Node*> counted;
    for (const size_t i : plan_.counted) count_write(*inputs_[i], counted);
    for (size_t i = 0; i < views_.size(); ++i) {
      const View& view = plan_.views[i];
      if (view.kind != View::Kind::Detached || !view.history) continue;
      made_->call(ops::copy_, {Arg(views_[i]), Arg(values_[*view.history])});
      counted.insert(views_[i]);
    }
    for (const Write& w : plan_.writes)
      if (w.value && w.is_counted && !w.is_first) counted.insert(inputs_[w.input]);
    for (const View& view : plan_.views)
      if (view.is_older) count_write(*made_of(view.base).node(), counted);
  }
  void count_write(Node& base, std::unordered_set<const Node*>& counted) {
    if (counted.insert(&base).second) made_->call(get_builtin("_count_write"), {Arg(base)});
  }

  void change_look(const Write& w) {
    std::vector<Arg> args{Arg(inputs_[w.input])};
    for (const Arg& arg : *w.look) args.push_back(moved(arg));
    made_->call(ops::as_strided_, std::move(args));
  }
  void write_input(const Write& w) {
    const Arg given(inputs_[w.input]);
    Arg target = w.is_recorded ? given : detached(*inputs_[w.input], w.is_counted);
    Arg value(values_[*w.value]);
    for (const int64_t d : w.single) {
      target = first_along(target, d);
      value = first_along(value, d);
    }
    const bool has_history = w.is_recorded && plan_.values[*w.value].root.defined();
    if (has_history && w.single.empty())
      made_->call(get_builtin("_write_with_history"), {target, value});
    else
      made_->call(ops::copy_, {target, value});
  }
  // Writes to it count for the other one, too, or by themselves.
  Arg detached(Node& t, bool is_counted) {
    return Arg(is_counted ? made_->call(ops::detach, {Arg(t)})
                          : made_->call(get_builtin("_data"), {Arg(t)}));
  }
  Arg first_along(const Arg& t, int64_t dim) {
    static dispatch::Operator& slice = *dispatch::find_operator("slice", "Tensor");
    return Arg(
        made_->call(slice, {t, Arg(dim), Arg(int64_t{0}), Arg(int64_t{1}), Arg(int64_t{1})}));
  }

  // ---- views ----
  void write_views(FunctionRef<bool(const View&)> is_one) {
    for (size_t i = 0; i < views_.size(); ++i)
      if (!views_[i] && is_one(plan_.views[i])) views_[i] = write_view(plan_.views[i]);
    steps_.clear();
  }
  Node* write_view(const View& view) {
    Node& look = write_look(view);
    switch (view.kind) {
      case View::Kind::Detached: return detached(look, view.is_counted).node();
      case View::Kind::Unrecorded: return unrecorded(look).node();
      case View::Kind::Cut: return &made_->call(ops::alias, {unrecorded(look)});
      case View::Kind::Own:
        return &made_->call(get_builtin("_view_with_history"),
                            {Arg(look), view.history ? Arg(values_[*view.history]) : Arg(),
                             Arg(static_cast<int64_t>(view.origin))});
      case View::Kind::Plain: break;
    }
    // The program's graph has one value for tensors that are several in the program.
    const bool is_taken = &look == made_of(view.base).node() || !given_.insert(&look).second;
    return is_taken ? &made_->call(ops::alias, {Arg(look)}) : &look;
  }
  Arg unrecorded(Node& view) {
    const auto region = make_intrusive<Graph>();
    Node& given = region->placeholder("view");
    region->output(Arg::tuple({Arg(region->call(ops::alias, {Arg(given)}))}));
    Node& made = made_->call(get_builtin("wrap_with_set_grad_enabled"),
                             {Arg(false), Arg(region), Arg(view)});
    return Arg(made_->call(get_builtin("getitem"), {Arg(made), Arg(int64_t{0})}));
  }

  // The steps from the base, of which several views may share the first ones.
  Node& write_look(const View& view) {
    Node* at = made_of(view.base).node();
    if (!view.node) {
      std::vector<Arg> args{Arg(at)};
      for (const Arg& arg : view.look) args.push_back(moved(arg));
      return made_->call(ops::as_strided, std::move(args));
    }
    for (auto step = view.steps.rbegin(); step != view.steps.rend(); ++step) {
      Node*& made = steps_[{at, *step}];
      if (!made) {
        const Node* const from = viewed(**step);
        const auto given = [&](Node& n) { return &n == from ? Arg(at) : map_.at(&n); };
        made = &copy_node(**step, *made_, given);
        if (view.moved != 0) move_place(*made, view.moved);
      }
      at = made;
    }
    return *at;
  }
  static void move_place(Node& step, int64_t by) {
    if (!place_named_by(step)) return;
    std::vector<Arg> args(step.args().begin(), step.args().end());
    args[3] = Arg(args[3].constant().to_int() + by);
    step.set_args(std::move(args));
  }

  Graph& traced_;
  const EpiloguePlan& plan_;
  IntrusivePtr<Graph> made_;
  std::vector<Node*> inputs_, values_, views_;
  NodeMap map_;
  std::map<std::pair<const Node*, const Node*>, Node*> steps_;  // by what they look at
  std::unordered_set<const Node*> given_;                       // views that are results
};

}  // namespace

IntrusivePtr<Graph> epilogue_graph(const TracedProgram& program, const EpiloguePlan& plan) {
  return GraphWriter(program, plan).run();
}

}  // namespace taeda::fx
