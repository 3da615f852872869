// The layers of a trace, put together.
#include "taeda/fx/retrace.h"

#include <algorithm>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/functional_mode.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/decompositions.h"

namespace taeda::fx {
namespace {

using dispatch::ActiveMode;

// A thread as it is when it starts, until the end of the scope.
class FreshThread {
 public:
  FreshThread()
      : keys_(local_keys()), modes_(dispatch::modes()), is_inference_(is_inference_mode()) {
    dispatch::set_modes({});
    local_keys() = {KeySet(Key::ADInplaceOrView), KeySet()};
    set_inference_mode(false);
  }
  ~FreshThread() {
    set_inference_mode(is_inference_);
    dispatch::set_modes(std::move(modes_));
    local_keys() = keys_;
  }
  FreshThread(const FreshThread&) = delete;

 private:
  TakeGradScopes own_scopes_{nullptr};
  dispatch::BelowAllLevels levels_;
  LocalKeys keys_;
  dispatch::ModeStack modes_;
  bool is_inference_;
};

// The history of an input that is no leaf: it passes gradients on.
class InputNode final : public autograd::Node {
 public:
  const char* name() const override { return "Input"; }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    grad_inputs[0] = grads[0];
  }
};

// Facts that a node takes over from the one it comes from.
constexpr const char* kKeptFacts[] = {"stack_trace", "nn_module_stack", "source_fn_stack",
                                      "custom"};

void copy_facts(Node& made, const Node& from) {
  for (const char* key : kKeptFacts)
    if (Value v = from.meta_value(key); !v.is_none()) made.set_meta_value(key, std::move(v));
}

void append_leaves(const Value& v, std::vector<Value>& leaves) {
  if (v.is<std::shared_ptr<Value::List>>()) {
    for (const Value& item : *v.get<std::shared_ptr<Value::List>>()) append_leaves(item, leaves);
  } else if (v.is<std::vector<Tensor>>()) {
    for (const Tensor& t : v.get<std::vector<Tensor>>()) leaves.emplace_back(t);
  } else {
    leaves.push_back(v);
  }
}

IntrusivePtr<FakeMode> fake_mode_for(const std::vector<Value>& inputs) {
  IntrusivePtr<FakeMode> found;
  for (const Value& v : inputs)
    for_each_tensor(v, [&](const Tensor& t) {
      if (!found) found = fake_mode_of(values_inside(t));
    });
  if (found) return found;
  FakeMode::Options options;
  options.allow_non_fake_inputs = true;
  options.shape_env = make_intrusive<ShapeEnv>();
  return make_intrusive<FakeMode>(std::move(options));
}

// Which node of the retraced graph made which part of the backward graph, by sequence numbers.
class Origins {
 public:
  void enter(const Node& node) {
    now_ = &node;
    starts_.emplace_back(autograd::autograd_detail::next_sequence_nr, &node);
  }
  void leave_forward() { now_ = nullptr; }
  const Node* now() const {
    const autograd::Node* running = autograd::current_node();
    if (now_ || !running) return now_;
    const auto later =
        std::upper_bound(starts_.begin(), starts_.end(), running->sequence_nr(),
                         [](uint64_t number, const auto& start) { return number < start.first; });
    return later == starts_.begin() ? nullptr : std::prev(later)->second;
  }

 private:
  const Node* now_ = nullptr;
  std::vector<std::pair<uint64_t, const Node*>> starts_;
};

class Trace {
 public:
  Trace(const std::vector<Value>& inputs, const RetraceOptions& options)
      : options_(options),
        fake_mode_(options.fake_mode ? options.fake_mode : fake_mode_for(inputs)),
        tracer_(make_intrusive<Tracer>(make_intrusive<Graph>())) {
    TAEDA_CHECK(!options.differentiates || !options.is_before_autograd,
                "a trace before autograd has no gradients");
    tracer_->is_before_autograd = options.is_before_autograd;
    tracer_->opened = options.opened;
    tracer_->decompose = options.functionalizes ? options.decompose : without_functions();
    tracer_->on_node = [this](Node& made) { note(made); };
    if (options.writes_asserts) tracer_->write_asserts_of(fake_mode_->options().shape_env);
    if (!options.functionalizes) return;
    functional_ = make_intrusive<FunctionalMode>(fake_mode_);
    functional_->is_before_autograd = options.is_before_autograd;
    functional_->decompose = options.decompose;
    functional_->rewrite_regions = [this](dispatch::Operator& op, dispatch::Stack& stack) {
      retrace_regions(op, stack);
    };
    // Inside autocast regions casts are part of the graph.
    tracer_->is_below_autocast = options.is_before_autograd;
  }

  Origins& origins() { return origins_; }

  Retraced run(Program program, const std::vector<Value>& inputs) {
    for (const Value& v : inputs) add_input(v);
    const autograd::GradMode recording(options_.differentiates);
    std::vector<Value> results;
    {
      const Active active(*this);
      append_leaves(program(inputs_), results);
      origins_.leave_forward();
      finish(results);
    }
    tracer_->write_asserts();
    made_.graph = tracer_->graph_ptr();
    made_.graph->output(Arg::tuple(std::move(returned_)));
    made_.constants = tracer_->constants();
    return std::move(made_);
  }

  // A tensor that the program reads by its name.
  Tensor attribute(const std::string& name, const Tensor& real) {
    for (const auto& [known, t] : attributes_)
      if (known == name) return t;
    const Tensor value = fake_like(real);
    tracer_->add_attribute(name, value);
    attributes_.emplace_back(name, shown(value));
    return attributes_.back().second;
  }

  // The results of a scope of grad mode as a call; nothing where it must run: where it writes to
  // its operands, or its results look at their memory or at each other's.
  std::optional<Values> keep_scope(bool is_enabled, const RegionValue& scope,
                                   const Values& operands) {
    tracer_->write_asserts();
    const Retraced made = retrace(*scope.graph(), operands, inner_options());
    if (options_.writes_asserts) tracer_->write_asserts_of(fake_mode_->options().shape_env);
    Values values;
    for (const Value& v : operands) values.push_back(value_of(v));
    const Values results = fake_results(*made.graph, values);
    if (!made.written.empty() || !made.constants.empty() || shares_memory(values, results))
      return std::nullopt;
    std::vector<Arg> args{Arg(is_enabled), Arg(made.graph)};
    for (const Value& v : values) args.push_back(tracer_->arg_of(v));
    tracer_->record(get_builtin("wrap_with_set_grad_enabled"), std::move(args), list(results));
    Values seen = results;
    for (Value& v : seen)
      if (v.is<Tensor>() && v.get<Tensor>().defined()) v = Value(shown(v.get<Tensor>()));
    return seen;
  }

 private:
  // Of regions inside.
  RetraceOptions inner_options() const {
    RetraceOptions inner = options_;
    inner.fake_mode = fake_mode_;
    inner.names.clear();
    return inner;
  }

  // Seen by the fake mode alone.
  Values fake_results(const Graph& graph, const Values& operands) {
    const FreshThread thread;
    const ActiveMode fake(*fake_mode_);
    return items(Plan(graph).run(operands));
  }

  // Whether a result lies in the memory of an operand or of another result.
  static bool shares_memory(const Values& operands, const Values& results) {
    std::unordered_set<const StorageImpl*> taken;
    const auto note = [&](const Tensor& t) { return taken.insert(t.storage().get()).second; };
    for (const Value& v : operands) for_each_tensor(v, note);
    bool is_shared = false;
    for (const Value& v : results)
      for_each_tensor(v, [&](const Tensor& t) { is_shared |= !note(t); });
    return is_shared;
  }

  // The modes of a trace, outermost first.
  struct Active {
    explicit Active(Trace& t) : fake(*t.fake_mode_), tracer(*t.tracer_) {
      if (t.functional_) functional.emplace(*t.functional_);
    }
    ActiveMode fake, tracer;
    std::optional<ActiveMode> functional;
  };

  void retrace_regions(dispatch::Operator& op, dispatch::Stack& stack) {
    const ControlFlow* flow = find_control_flow(op);
    if (!flow) return;
    // What a region states holds where it runs, and nowhere else.
    tracer_->write_asserts();
    rewrite_regions(*flow, stack, inner_options());
    if (options_.writes_asserts) tracer_->write_asserts_of(fake_mode_->options().shape_env);
  }

  // Decomposes where nothing is functionalized; regions are retraced there too.
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> without_functions() {
    return [this](dispatch::Operator& op, dispatch::Stack& stack) {
      if (options_.decompose && options_.decompose(op, stack)) return true;
      retrace_regions(op, stack);
      return false;
    };
  }

  void note(Node& made) {
    const Node* from = origins_.now();
    if (from) copy_facts(made, *from);
    if (autograd::current_node()) made.set_meta_value("partitioner_tag", Value("is_backward"));
    if (options_.on_node) options_.on_node(made, from);
  }

  Tensor fake_like(const Tensor& t) {
    Tensor fake =
        fake_mode_->from_tensor(t, t.sym_sizes(), t.sym_strides(), t.impl()->sym_storage_offset());
    fake.impl()->set_requires_grad_flag(false);
    return fake;
  }
  // What the program sees of a value.
  Tensor shown(const Tensor& value) {
    if (!functional_) return value;
    Tensor seen = fake_like(value);
    functional_->add(seen, value);
    return seen;
  }

  std::string name_of_input(size_t i) const {
    return i < options_.names.size() ? options_.names[i] : str("arg", i, "_1");
  }

  void add_input(const Value& v) {
    const std::string name = name_of_input(inputs_.size());
    leaves_.emplace_back();
    if (!v.is<Tensor>() || !v.get<Tensor>().defined()) {
      tracer_->add_input(name, v);
      inputs_.push_back(v);
      return;
    }
    const Tensor& given = v.get<Tensor>();
    const Tensor value = fake_like(given);
    tracer_->add_input(name, value);
    Tensor seen = shown(value);
    check_unshared(given, inputs_.size());
    if (options_.differentiates && autograd::requires_grad(given)) {
      autograd::set_requires_grad(seen, true);
      leaves_.back() = seen;
      if (!autograd::is_leaf(given)) seen = without_leaf(seen, value);
    }
    inputs_.emplace_back(std::move(seen));
  }

  // The same tensor with a history, so that it may be written to.
  Tensor without_leaf(const Tensor& leaf, const Tensor& value) {
    const Tensor seen = shown(value);
    auto node = make_intrusive<InputNode>();
    node->set_next_edges({autograd::gradient_edge(leaf)});
    autograd::set_history(seen, std::move(node));
    return seen;
  }

  void check_unshared(const Tensor& given, size_t index) {
    for (const auto& [other, memory] : memories_)
      if (memory == given.storage().get()) sharing_.emplace_back(other, index);
    memories_.emplace_back(index, given.storage().get());
  }

  Value value_of(const Value& v) {
    if (!functional_ || !v.is<Tensor>() || !v.get<Tensor>().defined()) return v;
    const InsideMode below(*this);
    return functional_->value(v.get<Tensor>());
  }

  // As the functional mode runs: what it calls goes to the tracer.
  class InsideMode {
   public:
    explicit InsideMode(Trace& trace)
        : mode_(dispatch::pop_mode()), below_(dispatch::kAboveHandlers) {
      TAEDA_INTERNAL_CHECK(mode_.get() == trace.functional_.get(), "a mode was left behind");
    }
    ~InsideMode() { dispatch::push_mode(std::move(mode_)); }
    InsideMode(const InsideMode&) = delete;

   private:
    IntrusivePtr<dispatch::Mode> mode_;
    ExcludeKeys below_;
  };

  void give(const Value& v) { returned_.push_back(tracer_->arg_of(value_of(v))); }

  void finish(const std::vector<Value>& results) {
    std::vector<Value> all;
    for (size_t i = 0; functional_ && i < inputs_.size(); ++i) {
      const Value& v = inputs_[i];
      if (!v.is<Tensor>() || !v.get<Tensor>().defined()) continue;
      if (!functional_->is_written(v.get<Tensor>())) continue;
      check_unshared_write(i);
      made_.written.push_back(i);
      all.push_back(v);
    }
    for (const auto& [name, t] : attributes_)
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !functional_ || !functional_->is_written(t),
                       "the program writes to the attribute ", name, "; pass it as an input");
    made_.num_results = results.size();
    all.insert(all.end(), results.begin(), results.end());
    for (const Value& v : all) give(v);
    if (options_.differentiates) differentiate(all);
  }

  void check_unshared_write(size_t i) const {
    for (const auto& [a, b] : sharing_)
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented, a != i && b != i, "the program writes to input ",
                       i, ", which shares memory with input ", a == i ? b : a,
                       "; pass one tensor, and make views of it inside");
  }

  // A further input, behind the others.
  Tensor tangent_of(const Tensor& root) {
    Graph& graph = tracer_->graph();
    Node* first = graph.first();
    while (first->op() == OpCode::Placeholder) first = first->next();
    const InsertBefore inputs(graph, *first);
    const Tensor value = fake_like(root);
    tracer_->add_input(str("tangents_", made_.tangents.size()), value);
    return shown(value);
  }

  void differentiate(const std::vector<Value>& all) {
    std::vector<Tensor> roots, tangents, wanted;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is<Tensor>() || !autograd::requires_grad(all[i].get<Tensor>())) continue;
      const Tensor& root = all[i].get<Tensor>();
      made_.tangents.push_back(i);
      roots.push_back(root);
      tangents.push_back(tangent_of(root));
    }
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (!leaves_[i].defined()) continue;
      made_.gradients.push_back(i);
      wanted.push_back(leaves_[i]);
    }
    std::vector<Tensor> found(wanted.size());
    if (!roots.empty() && !wanted.empty())
      found = autograd::run_backward(roots, tangents, false, false, wanted, true, false);
    for (const Tensor& grad : found) give(grad.defined() ? Value(grad) : Value());
  }

  const RetraceOptions& options_;
  IntrusivePtr<FakeMode> fake_mode_;
  IntrusivePtr<Tracer> tracer_;
  IntrusivePtr<FunctionalMode> functional_;  // null where nothing is functionalized
  Origins origins_;
  std::vector<Value> inputs_;   // as the program sees them
  std::vector<Tensor> leaves_;  // of each input that a gradient is wanted for
  std::vector<std::pair<std::string, Tensor>> attributes_;
  std::vector<std::pair<size_t, const StorageImpl*>> memories_;
  std::vector<std::pair<size_t, size_t>> sharing_;  // inputs on the same memory
  std::vector<Arg> returned_;
  Retraced made_;
};

}  // namespace

Retraced trace(Program program, const std::vector<Value>& inputs, const RetraceOptions& options) {
  const FreshThread thread;
  return Trace(inputs, options).run(program, inputs);
}

Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                 const RetraceOptions& options, AttributeReader attributes) {
  const FreshThread thread;
  RetraceOptions named = options;
  const std::vector<Node*> placeholders = graph.placeholders();
  for (size_t i = named.names.size(); i < placeholders.size(); ++i)
    named.names.push_back(placeholders[i]->name());
  Trace trace(inputs, named);
  const Plan plan(graph);
  const auto watcher = [&](const Node& node) { trace.origins().enter(node); };
  const auto read = [&](const std::string& name) {
    const Value v = attributes(name);
    return v.is<Tensor>() ? Value(trace.attribute(name, v.get<Tensor>())) : v;
  };
  const auto keep_scope = [&](bool is_enabled, const RegionValue& scope, const Values& operands) {
    return trace.keep_scope(is_enabled, scope, operands);
  };
  const TakeGradScopes::Handler handler(keep_scope);
  const bool keeps_scopes = named.is_before_autograd && named.keeps_grad_scopes;
  const auto program = [&](std::vector<Value> values) {
    const WatchSteps watched(watcher);
    const TakeGradScopes scopes(keeps_scopes ? &handler : nullptr);
    return plan.run(std::move(values), read);
  };
  Retraced made = trace.run(program, inputs);
  const std::vector<Node*> fresh = made.graph->placeholders();
  for (size_t i = 0; i < placeholders.size() && i < inputs.size(); ++i)
    copy_facts(*fresh[i], *placeholders[i]);
  if (Node* output = graph.output_node()) copy_facts(*made.graph->output_node(), *output);
  return made;
}

Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                 const RetraceOptions& options) {
  return retrace(graph, inputs, options, [](const std::string& name) -> Value {
    fail(ErrorKind::Attribute, "the graph reads the attribute ", name, " and none were given");
  });
}

bool decompose_to_core(dispatch::Operator& op, dispatch::Stack& stack) {
  if (op.has(dispatch::Tag::Core)) return false;
  const Decomposition* found = find_decomposition(op);
  if (found) (*found)(stack);
  return found != nullptr;
}

}  // namespace taeda::fx
