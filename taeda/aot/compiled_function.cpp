// Compiled programs in eager's world.
#include "taeda/aot/compiled_function.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_set>

#include "taeda/aot/checked_results.h"
#include "taeda/aot/compiled_node.h"
#include "taeda/aot/kept_writes.h"
#include "taeda/aot/missing_tangents.h"
#include "taeda/aot/saved_reads.h"
#include "taeda/autograd/autocast.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/core/default_dtype.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/effects.h"
#include "taeda/fx/shared_inputs.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/operators.h"

namespace taeda::aot {

namespace {

bool is_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

bool is_symbolic(const Value& v) {
  return v.is<SymInt>() || (is_tensor(v) && v.get<Tensor>().impl()->has_symbolic_sizes());
}

bool needs_gradient(const Value& v) {
  return is_tensor(v) && autograd::requires_grad(v.get<Tensor>());
}

// What a thread casts, as it was when this was made.
class AutocastState {
 public:
  AutocastState() {
    for (int i = 0; i < kNumDeviceTypes; ++i) {
      const auto device = static_cast<DeviceType>(i);
      if (autocast::is_available(device))
        regions_.push_back({device, autocast::dtype_of(device), autocast::is_enabled(device)});
    }
  }
  // Until the end of what it gives.
  std::deque<autocast::Region> enter() const {
    std::deque<autocast::Region> entered;
    for (const auto& [device, dtype, is_enabled] : regions_)
      entered.emplace_back(device, dtype, is_enabled);
    return entered;
  }

 private:
  std::vector<std::tuple<DeviceType, DType, bool>> regions_;
};

// States of generators are these until the end of the scope.
class WithRandomStates {
 public:
  explicit WithRandomStates(const RandomStates& states) {
    for (const auto& [generator, state] : states) {
      before_.emplace_back(generator, generator.get_state());
      generator.set_state(state);
    }
  }
  ~WithRandomStates() {
    for (const auto& [generator, state] : before_) generator.set_state(state);
  }
  WithRandomStates(const WithRandomStates&) = delete;

 private:
  RandomStates before_;
};

// The tensor itself, or one that is no view: a result has memory of its own.
Tensor own_tensor(const Tensor& t) { return t.impl()->view_base() ? autograd::detached(t) : t; }

bool is_same_tensor(const Value& a, const Value& b) {
  return is_tensor(a) && is_tensor(b) && a.get<Tensor>().is_same(b.get<Tensor>());
}

// Whether a program may record what it does to such inputs.
bool may_record(const std::vector<Value>& inputs) {
  return !is_inference_mode() && std::any_of(inputs.begin(), inputs.end(), needs_gradient);
}

// Whether what is done to such inputs now is recorded.
bool has_gradients(const std::vector<Value>& inputs) {
  return autograd::grad_enabled() && std::any_of(inputs.begin(), inputs.end(), needs_gradient);
}

void name_primals(fx::Graph& graph, size_t num_inputs) {
  const std::vector<fx::Node*> placeholders = graph.placeholders();
  for (size_t i = 0; i < num_inputs; ++i) placeholders[i]->rename(str("primals_", i + 1));
}

void check_tangents(const std::vector<Value>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    TAEDA_CHECK_NOT_IMPLEMENTED(
        !is_tensor(inputs[i]) || !autograd::any_tangent(inputs[i].get<Tensor>()), "input ", i,
        " of a compiled program is a dual tensor; a program that was "
        "traced has no tangents (taeda.compile takes dual tensors)");
}

// What casts now casts while the program is traced again.
template <class Trace>
auto on_such_a_thread(Trace trace) {
  return [trace = std::move(trace), state = AutocastState()](const auto&... given) {
    const auto casting = state.enter();
    return trace(given...);
  };
}

// A graph that may be traced again, with the attributes that it reads.
struct GraphProgram {
  IntrusivePtr<fx::Graph> graph;
  std::map<std::string, Value> attributes;

  Value operator()(const std::string& name) const { return attributes.at(name); }
};

const auto read_none = [](const std::string& name) -> Value {
  throw_error(ErrorKind::Attribute, str("the graph's attribute ", name, " is not given"));
};

}  // namespace

// ---- compilation ----
class Compiler {
 public:
  Compiler(const std::vector<Value>& inputs, const AotOptions& options, bool differentiates,
           bool begins_without_grad)
      : inputs_(inputs), options_(options), made_(std::make_shared<CompiledFunction>()) {
    trace_.decompose = options.decompose;
    trace_.make_watcher = options.make_watcher;
    trace_.backward_scope = options.backward_scope;
    trace_.keeps_aliases = true;
    // What the program states of numbers that only data tells is checked when it runs.
    trace_.writes_asserts = true;
    trace_.writes_given_asserts = false;
    trace_.stays_on_thread = options.stays_on_thread;
    trace_.fake_mode = options.fake_mode;
    trace_.fakes = options.fakes;
    trace_.differentiates = differentiates;
    trace_.begins_without_grad = begins_without_grad;
  }
  const fx::RetraceOptions& options() const { return trace_; }
  void serve_small_sizes(SmallSizes::Compile compile) {
    made_->small_sizes_ = std::make_unique<SmallSizes>(inputs_, std::move(compile));
  }
  // Whether the graph of such a trace is a joint one.
  bool is_joint(const fx::Retraced& traced) const {
    return trace_.differentiates && !(trace_.begins_without_grad && traced.gradients.empty());
  }

  std::shared_ptr<CompiledFunction> compile(fx::Retraced traced, fx::AttributeReader read,
                                            TraceAgain again,
                                            std::vector<fx::GradientOrder> orders = {}) {
    trace_.differentiates = is_joint(traced);
    made_->begins_without_grad_ = trace_.begins_without_grad && trace_.differentiates;
    made_->traced_ = std::move(traced);
    made_->trace_again_ = std::move(again);
    made_->orders_ = std::move(orders);
    made_->num_inputs_ = inputs_.size();
    made_->options_ = options_;
    made_->options_.fakes.clear();
    made_->options_.fake_mode = nullptr;  // that of the graph's values
    made_->options_.cut = nullptr;
    const fx::Retraced& t = made_->traced_;
    if (t.epilogue) made_->epilogue_.emplace(*t.epilogue);
    made_->sharing_ = fx::Sharing(inputs_, t.written);
    if (t.epilogue) note_duplicates();
    if (t.epilogue) note_recorded_writes(*t.epilogue);
    keep_attributes(read);
    const auto attribute = [&](const std::string& name) { return made_->attributes_.at(name); };
    note_changing_sizes(*t.graph);
    if (options_.checks_inputs) note_sizes(*t.graph);
    if (options_.on_joint) options_.on_joint(*t.graph);
    if (!trace_.differentiates) {
      made_->forward_ =
          compiled(options_.inference ? options_.inference : options_.forward, *t.graph, attribute);
      return made_;
    }
    rank_edges();
    find_draws();
    made_->parts_ = options_.cut ? options_.cut(t, inputs_.size())
                                 : partition(t, inputs_.size(), cut_options());
    made_->inner_ = inner_values(*made_->parts_->backward);
    made_->saved_reads_ = saved_reads(*made_->parts_->backward, made_->parts_->saved.size());
    note_changing_sizes(*made_->parts_->forward);
    compile_forward(attribute);
    if (!options_.compiles_backward_late)
      made_->backward(std::vector<bool>(t.tangents.size(), true));
    return made_;
  }

 private:
  PartitionOptions cut_options() const {
    PartitionOptions cut = options_.partition;
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (needs_gradient(inputs_[i]) && autograd::is_leaf(inputs_[i].get<Tensor>()))
        cut.lasting.insert(i);
    return cut;
  }
  // A forward graph, compiled with the writes that it keeps.
  fx::CompiledFn compiled(const fx::CompilerFn& compiler, const fx::Graph& graph,
                          fx::AttributeReader attribute) {
    const bool keeps_plain = options_.keeps_plain_writes && made_->sharing_.inputs.empty();
    if (!made_->epilogue_ || made_->traced_.written.empty() ||
        (!options_.keeps_writes && !keeps_plain))
      return aot::compile_forward(compiler, graph, attribute);
    const KeptWrites kept = options_.keeps_writes
                                ? keep_writes(made_->traced_, graph)
                                : keep_writes(made_->traced_, graph, saved_values(), true);
    made_->epilogue_.emplace(*kept.epilogue);
    if (gives_nothing(*kept.epilogue)) made_->epilogue_.reset();
    made_->gives_nothing_ = !made_->epilogue_;
    return [run = aot::compile_forward(compiler, *kept.forward, attribute),
            places = kept.places](const std::vector<Value>& inputs) {
      const std::vector<Value> results = run(inputs);
      std::vector<Value> all;
      for (const std::optional<size_t>& i : places) all.push_back(i ? results.at(*i) : Value());
      return all;
    };
  }
  // Results of the forward that the backward reads.
  std::unordered_set<size_t> saved_values() const {
    std::unordered_set<size_t> found;
    if (!made_->parts_) return found;
    for (const std::vector<Saved>* all : {&made_->parts_->saved, &made_->parts_->primals})
      for (const Saved& saved : *all)
        if (saved.kind != Saved::Kind::Input) found.insert(saved.number);
    return found;
  }
  // Whether all that the program does are writes that the forward has.
  static bool gives_nothing(const fx::Graph& epilogue) {
    for (const fx::Node& node : epilogue)
      if (node.op() != fx::OpCode::Placeholder && node.op() != fx::OpCode::Output) return false;
    const fx::Compound* results = epilogue.output_node()->args().at(0).compound();
    return results && results->items.empty();
  }
  void compile_forward(fx::AttributeReader attribute) {
    const Partition& parts = *made_->parts_;
    if (!options_.returns_saved) {
      made_->forward_ = compiled(options_.forward, *parts.forward, attribute);
      return;
    }
    std::vector<size_t> places;
    const IntrusivePtr<fx::Graph> graph = with_all_saved(parts, &places);
    made_->forward_ = [run = compiled(options_.forward, *graph, attribute),
                       places](const std::vector<Value>& inputs) {
      const std::vector<Value> results = run(inputs);
      std::vector<Value> kept;
      for (const size_t i : places) kept.push_back(results.at(i));
      return kept;
    };
  }
  static std::vector<int64_t> changing_sizes(const Value& value) {
    std::vector<int64_t> dims;
    if (!is_tensor(value)) return dims;
    const SymIntList sizes = value.get<Tensor>().sym_sizes();
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d].is_symbolic()) dims.push_back(static_cast<int64_t>(d));
    return dims;
  }
  void note_duplicates() {
    for (size_t i = 0; i < inputs_.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        if (!is_same_tensor(inputs_[i], inputs_[j])) continue;
        made_->duplicates_.emplace_back(i, j);
        break;
      }
  }
  void note_recorded_writes(const fx::Graph& epilogue) {
    const std::vector<fx::Node*> given = epilogue.placeholders();
    const auto place_of = [&](const fx::Node* node) {
      return static_cast<size_t>(std::ranges::find(given, node) - given.begin());
    };
    for (const fx::Node& node : epilogue) {
      const bool is_copy = node.target().op() == &ops::copy_ ||
                           node.target().builtin() == &fx::get_builtin("_write_with_history");
      made_->writes_behind_ |= is_copy || node.target().op() == &ops::as_strided_ ||
                               node.target().builtin() == &fx::get_builtin("_count_write");
      if (!is_copy && node.target().op() != &ops::as_strided_) continue;
      const size_t input = place_of(node.args().at(0).node());
      if (input >= inputs_.size()) continue;
      made_->recorded_writes_.emplace_back(input, std::nullopt);
      if (is_copy)
        made_->recorded_writes_.back().second = place_of(node.args().at(1).node()) - inputs_.size();
    }
  }
  void rank_edges() {
    const std::vector<size_t>& arrivals = made_->traced_.arrivals;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is<Tensor>()) continue;
      if (std::ranges::count(made_->traced_.unreached, i) != 0)
        made_->unreached_edges_.push_back(made_->edge_ranks_.size());
      made_->edge_ranks_.push_back(
          static_cast<uint32_t>(std::find(arrivals.begin(), arrivals.end(), i) - arrivals.begin()));
    }
  }
  void find_draws() {
    for (const fx::Node& node : *made_->traced_.graph) {
      if (!fx::draws(node)) continue;
      Generator from = default_cpu_generator();
      const auto take = [&](const fx::Arg& arg) {
        if (arg.is_constant() && arg.constant().is<Generator>() &&
            arg.constant().get<Generator>().defined())
          from = arg.constant().get<Generator>();
      };
      for (const fx::Arg& arg : node.args()) take(arg);
      for (const auto& [name, arg] : node.kwargs()) take(arg);
      if (!std::ranges::count(made_->drawn_from_, from)) made_->drawn_from_.push_back(from);
    }
  }
  void note_changing_sizes(const fx::Graph& graph) {
    if (!options_.on_changing_sizes) return;
    made_->changing_inputs_.clear();
    made_->changing_values_.clear();
    for (const fx::Node* node : graph.placeholders())
      made_->changing_inputs_.push_back(changing_sizes(node->val()));
    for (const fx::Arg& result : graph.output_node()->args().at(0).compound()->items)
      made_->changing_values_.push_back(result.node() ? changing_sizes(result.node()->val())
                                                      : std::vector<int64_t>());
  }
  void note_sizes(const fx::Graph& graph) {
    std::vector<Value> values;
    for (const fx::Node* node : graph.placeholders())
      if (values.size() < inputs_.size()) values.push_back(node->val());
    made_->check_sizes_ = SizeChecks(values);
    if (made_->traced_.epilogue)
      made_->check_layouts_ = LayoutChecks(*made_->traced_.epilogue, inputs_);
    made_->options_.checks_inputs = false;  // not again for gradients of gradients
    made_->checks_gradients_ = !trace_.differentiates || made_->begins_without_grad_;
  }
  void keep_attributes(fx::AttributeReader read) {
    for (const auto& [name, t] : made_->traced_.constants) made_->attributes_[name] = Value(t);
    for (const fx::Node& node : *made_->traced_.graph) {
      if (node.op() != fx::OpCode::GetAttr) continue;
      const std::string& name = *node.target().name();
      if (!made_->attributes_.count(name)) made_->attributes_[name] = read(name);
    }
  }

  const std::vector<Value>& inputs_;
  const AotOptions& options_;
  fx::RetraceOptions trace_;
  std::shared_ptr<CompiledFunction> made_;
};

std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph, const std::vector<Value>& inputs,
                                          const AotOptions& options,
                                          fx::AttributeReader attributes) {
  Compiler compiler(inputs, options, may_record(inputs), !autograd::grad_enabled());
  const autograd::WithoutSavedTensorHooks unseen;
  fx::Retraced traced = fx::retrace(graph, inputs, compiler.options(), attributes);
  const bool is_joint = compiler.is_joint(traced);
  const bool is_given_small_sizes =
      options.checks_inputs && std::any_of(inputs.begin(), inputs.end(), is_symbolic);
  if (!is_joint && !is_given_small_sizes)
    return compiler.compile(std::move(traced), attributes, nullptr);
  std::map<std::string, Value> read;
  for (const fx::Node& node : graph)
    if (node.op() == fx::OpCode::GetAttr && !read.count(*node.target().name()))
      read[*node.target().name()] = attributes(*node.target().name());
  const auto program =
      std::make_shared<const GraphProgram>(GraphProgram{fx::clone(graph), std::move(read)});
  TraceAgain again = on_such_a_thread(
      [program](const std::vector<Value>& values, const fx::RetraceOptions& options) {
        return fx::retrace(*program->graph, values, options, *program);
      });
  const auto made =
      compiler.compile(std::move(traced), attributes, is_joint ? std::move(again) : nullptr);
  if (is_given_small_sizes) {
    AotOptions later = options;
    later.fakes.clear();
    later.fake_mode = nullptr;
    compiler.serve_small_sizes(
        on_such_a_thread([program, later = std::move(later),
                          has_grad = autograd::grad_enabled()](const std::vector<Value>& fakes) {
          const autograd::GradMode mode(has_grad);
          return compile(*program->graph, fakes, later, *program);
        }));
  }
  return made;
}

std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph, const std::vector<Value>& inputs,
                                          const AotOptions& options) {
  return compile(graph, inputs, options, read_none);
}

TracedProgram trace(fx::Program program, const std::vector<Value>& inputs,
                    const AotOptions& options) {
  const bool begins_without_grad = !autograd::grad_enabled();
  const Compiler compiler(inputs, options, may_record(inputs), begins_without_grad);
  const autograd::WithoutSavedTensorHooks unseen;
  TracedProgram made{fx::trace(program, inputs, compiler.options()), inputs, false,
                     begins_without_grad, nullptr};
  made.differentiates = compiler.is_joint(made.traced);
  if (made.differentiates) name_primals(*made.traced.graph, inputs.size());
  if (made.differentiates && options.again)
    made.again = on_such_a_thread([program = options.again](const std::vector<Value>& values,
                                                            const fx::RetraceOptions& trace) {
      return fx::trace(program, values, trace);
    });
  return made;
}

std::shared_ptr<CompiledFunction> compile(TracedProgram program, const AotOptions& options) {
  Compiler compiler(program.inputs, options, program.differentiates, program.begins_without_grad);
  const autograd::WithoutSavedTensorHooks unseen;
  return compiler.compile(std::move(program.traced), read_none, std::move(program.again));
}

std::shared_ptr<CompiledFunction> compile(fx::Program program, const std::vector<Value>& inputs,
                                          const AotOptions& options) {
  return compile(trace(program, inputs, options), options);
}

// ---- runs ----

// A program that writes was traced for inputs that share written memory in the same way.
void CompiledFunction::check_sharing(const std::vector<Value>& inputs) const {
  if (traced_.written.empty()) return;
  const fx::Sharing sharing(inputs, traced_.written);
  if (sharing_.holds_for(sharing)) return;
  TAEDA_CHECK(!sharing_.inputs.empty(), "input ", sharing.inputs[0][0], " and input ",
              sharing.inputs[0][1],
              " share memory that the program writes to; it was compiled for inputs that do not");
  fail(ErrorKind::Runtime, "input ", sharing_.inputs[0][0], " and input ", sharing_.inputs[0][1],
       " shared memory that the program writes to; it was compiled for inputs that share it in the "
       "same way");
}

void CompiledFunction::check_duplicates(const std::vector<Value>& inputs) const {
  for (const auto& [i, j] : duplicates_)
    TAEDA_CHECK_KIND(ErrorKind::Assertion, is_same_tensor(inputs.at(i), inputs.at(j)),
                     "At compilation time, graph ", options_.number,
                     " was compiled under the assumption that input ", i,
                     " would be a duplicate of input ", j,
                     ", but at runtime this was not the case.  This indicates a guard bug in "
                     "AOTAutograd or Dynamo, please file a bug to PyTorch.");
}

void CompiledFunction::check_gradients(const std::vector<Value>& inputs) const {
  if (!checks_gradients_ || !has_gradients(inputs)) return;
  const auto found = std::find_if(inputs.begin(), inputs.end(), needs_gradient);
  fail(ErrorKind::Runtime, "input ", found - inputs.begin(),
       " requires a gradient, and the program was compiled ",
       begins_without_grad_ ? "under no_grad; compile it with gradients on"
                            : "for inputs without; compile it for inputs like these",
       ", or call it under no_grad");
}

// A write that autograd refuses is refused before the first one, whoever it goes to: the program
// was traced on tensors of other histories. One that is recorded gives its history to all that lies
// in the memory.
void CompiledFunction::check_writes(const std::vector<Value>& inputs) const {
  const auto has_tangent = [&](size_t value) {
    return std::ranges::count(traced_.tangents, value) != 0;
  };
  std::unordered_set<const StorageImpl*> recorded;
  for (const auto& [i, value] : recorded_writes_) {
    const Tensor& t = inputs.at(i).get<Tensor>();
    if (autograd::requires_grad(t) || (value && has_tangent(*value) && may_record(inputs)))
      recorded.insert(t.storage().get());
  }
  for (const auto& [i, value] : recorded_writes_) {
    const Tensor& t = inputs.at(i).get<Tensor>();
    autograd::check_inplace(t, recorded.count(t.storage().get()) != 0);
  }
}

std::vector<Value> CompiledFunction::operator()(const std::vector<Value>& inputs) {
  const WithDefaultDType traced_default(default_dtype_);
  if (small_sizes_)
    if (const auto version = small_sizes_->of(inputs)) return (*version)(inputs);
  check_sizes_(inputs);
  check_layouts_(inputs);
  check_gradients(inputs);
  check_tangents(inputs);
  check_sharing(inputs);
  check_duplicates(inputs);
  RandomStates random = random_states();
  std::optional<autograd::GradMode> recording;
  if (begins_without_grad_) recording.emplace(true);
  check_writes(inputs);
  std::vector<Value> values = [&] {
    const autograd::NoGrad unrecorded;
    const ExcludeKeys cast_already(Key::Autocast);
    return forward_(inputs);
  }();
  // Of what is saved, hooks alone see something.
  const bool tells_saved = autograd::default_saved_tensor_hooks() != nullptr;
  const size_t num_told = parts_ && !tells_saved ? parts_->num_values : changing_values_.size();
  for (size_t i = 0; i < std::min(num_told, changing_values_.size()); ++i)
    tell_sizes(values[i], changing_values_[i]);
  IntrusivePtr<CompiledNode> node;
  if (parts_) {
    values = record(inputs, std::move(values), std::move(random), node);
  } else {
    for (Value& v : values)
      if (is_tensor(v)) v = Value(own_tensor(v.get<Tensor>()));
  }
  if (gives_nothing_) return {};
  if (!epilogue_) return values;
  std::vector<Value> all = inputs;
  all.insert(all.end(), std::make_move_iterator(values.begin()),
             std::make_move_iterator(values.end()));
  const Value results = epilogue_->run(std::move(all));
  if (node && writes_behind_) node->accept_writes();
  return *results.get<std::shared_ptr<Value::List>>();
}

void CompiledFunction::tell_sizes(const Value& value, const std::vector<int64_t>& dims) const {
  if (!dims.empty() && is_tensor(value)) options_.on_changing_sizes(value.get<Tensor>(), dims);
}

// The values with histories; what is saved goes to their node.
std::vector<Value> CompiledFunction::record(const std::vector<Value>& inputs,
                                            std::vector<Value> all, RandomStates random,
                                            IntrusivePtr<CompiledNode>& node) {
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(parts_->num_values);
  const auto has_history = [&](size_t i) {
    return std::ranges::count(traced_.tangents, i) != 0 ||
           std::ranges::count(traced_.overwritten, i, [](const auto& o) { return o.first; }) != 0;
  };
  const bool has_any = !traced_.tangents.empty() || !traced_.overwritten.empty();
  if (!has_any && std::none_of(all.begin(), end, is_tensor)) {
    all.erase(end, all.end());
    return all;
  }
  std::vector<Tensor> tensors, outputs, constant;
  std::vector<bool> is_argument;
  for (const Value& v : inputs) {
    is_argument.push_back(v.is<Tensor>());
    if (v.is<Tensor>()) tensors.push_back(v.get<Tensor>());
  }
  for (size_t i = 0; i < parts_->num_values; ++i) {
    outputs.push_back(is_tensor(all[i]) ? own_tensor(all[i].get<Tensor>()) : Tensor());
    if (outputs.back().defined() && !has_history(i)) constant.push_back(outputs.back());
  }
  // Of results without gradients there is nothing to go back to.
  if (has_any && autograd::should_record(TensorList(tensors))) {
    node = make_intrusive<CompiledNode>(shared_from_this(), std::move(is_argument));
    autograd::EdgeList edges = autograd::collect_edges(TensorList(tensors));
    for (const size_t i : unreached_edges_) edges[i] = {};  // a node there would get zeros
    node->set_next_edges(std::move(edges));
  }
  autograd::record_outputs(outputs, {tensors, {}, constant}, node);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined()) all[i] = outputs[i];
  if (node) {
    const auto place = [&](const Saved& s) {
      return s.kind == Saved::Kind::Input ? inputs[s.number] : all[s.number];
    };
    const bool tells_saved = autograd::default_saved_tensor_hooks() != nullptr;
    std::vector<Value> to_save, primals;
    for (const Saved& saved : parts_->saved) {
      to_save.push_back(place(saved));
      if (saved.kind == Saved::Kind::Input && tells_saved && !changing_inputs_.empty())
        tell_sizes(to_save.back(), changing_inputs_[saved.number]);
    }
    for (const Saved& saved : parts_->primals) primals.push_back(place(saved));
    std::vector<Tensor> written;
    for (const size_t i : traced_.written_back) written.push_back(inputs[i].get<Tensor>());
    std::vector<Unread> others;
    for (size_t i = 0, k = 0; i < inputs.size(); ++i) {
      if (k < parts_->primal_inputs.size() && parts_->primal_inputs[k] == i)
        ++k;
      else
        others.emplace_back(i, inputs[i]);
    }
    node->keep(std::move(to_save), std::move(primals), std::move(others), std::move(written),
               outputs, std::move(random));
  }
  all.resize(parts_->num_values);
  return all;
}

std::vector<Tensor> CompiledFunction::by_input(const std::vector<Value>& results) const {
  std::vector<Tensor> all(num_inputs_);
  for (size_t i = 0; i < traced_.gradients.size(); ++i)
    if (is_tensor(results[i])) all[traced_.gradients[i]] = results[i].get<Tensor>();
  return all;
}

bool CompiledFunction::reads_saved(size_t number, Span<Tensor> grads) const {
  if (saved_reads_.empty()) return true;
  for (size_t k = 0; k < traced_.tangents.size(); ++k)
    if (saved_reads_[number][k] && grads[traced_.tangents[k]].defined()) return true;
  return false;
}

void CompiledFunction::drop_unreached(Span<Tensor> grads, std::vector<Tensor>& found) const {
  for (size_t i = 0; i < traced_.parts_of.size(); ++i) {
    bool is_reached = false;
    for (size_t k = 0; k < traced_.tangents.size(); ++k)
      is_reached |= traced_.parts_of[i][k] && grads[traced_.tangents[k]].defined();
    if (!is_reached) found[traced_.gradients[i]] = Tensor();
  }
}

const fx::CompiledFn& CompiledFunction::backward(const std::vector<bool>& given) const {
  const std::lock_guard lock(mutex_);
  fx::CompiledFn& run = backwards_[given];
  if (run) return run;
  const auto read = [&](const std::string& name) { return attributes_.at(name); };
  if (std::ranges::count(given, false) == 0)
    return run = compile_backward(options_.backward, *parts_->backward, read);
  const IntrusivePtr<fx::Graph> graph =
      without_missing(*parts_->backward, parts_->saved.size(), given, traced_.gradients.size());
  return run = compile_backward(options_.backward, *graph, read);
}

std::vector<Tensor> CompiledFunction::run_backward(const std::vector<Value>& saved,
                                                   Span<Tensor> grads,
                                                   const std::vector<Tensor>& zeros_for_missing,
                                                   const std::vector<Tensor>& written) const {
  std::vector<Value> inputs = saved;
  std::vector<bool> given;
  for (const size_t i : traced_.tangents) {
    given.push_back(grads[i].defined());
    inputs.push_back(zeros_for_missing.at(i));
  }
  const WithDefaultDType traced_default(default_dtype_);
  const fx::CompiledFn& run = backward(given);
  const autograd::NoGrad unrecorded;
  const ExcludeKeys cast_already(Key::Autocast);
  const std::vector<Value> results = run(inputs);
  for (size_t i = 0; i < written.size(); ++i)
    written[i].copy_(results.at(traced_.gradients.size() + i).get<Tensor>());
  return by_input(results);
}

std::vector<Tensor> CompiledFunction::run_and_show(const std::vector<Value>& saved,
                                                   Span<Tensor> grads,
                                                   const std::vector<Tensor>& zeros_for_missing,
                                                   const std::vector<Tensor>& written,
                                                   Span<uint32_t> asked,
                                                   autograd::ShowInner show) const {
  std::vector<Value> inputs = saved;
  std::vector<bool> given;
  for (const size_t i : traced_.tangents) given.push_back(grads[i].defined());
  std::shared_ptr<const SteppedBackward> stepped;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const SteppedBackward>& kept =
        stepped_[{given, std::vector<uint32_t>(asked.begin(), asked.end())}];
    if (!kept)
      kept = std::make_shared<const SteppedBackward>(
          std::ranges::count(given, false) == 0
              ? parts_->backward
              : without_missing(*parts_->backward, parts_->saved.size(), given,
                                traced_.gradients.size()),
          parts_->saved.size(), given, asked);
    stepped = kept;
  }
  for (const size_t i : traced_.tangents) {
    const auto value = static_cast<uint32_t>(i);
    // Where nothing else has a part in it now.
    const bool is_whole = std::find(asked.begin(), asked.end(), value) != asked.end() &&
                          grads[i].defined() && !stepped->shows(value);
    const Tensor tangent = zeros_for_missing.at(i);
    inputs.emplace_back(is_whole ? laid_out(show(value, grads[i]), SymIntVec(tangent.sym_strides()))
                                 : tangent);
  }
  const std::vector<Value> results =
      stepped->run(inputs, [&](const std::string& name) { return attributes_.at(name); }, show);
  for (size_t i = 0; i < written.size(); ++i)
    written[i].copy_(results.at(traced_.gradients.size() + i).get<Tensor>());
  return by_input(results);
}

RandomStates CompiledFunction::random_states() const {
  RandomStates states;
  for (const Generator& generator : drawn_from_)
    states.emplace_back(generator, generator.get_state());
  return states;
}

std::vector<Tensor> CompiledFunction::run_twice(const std::vector<Value>& inputs,
                                                const std::vector<Tensor>& grads,
                                                const RandomStates& random, Span<uint32_t> inner,
                                                std::vector<Tensor>& found) {
  const WithDefaultDType traced_default(default_dtype_);
  std::vector<Value> all = inputs;
  std::vector<size_t> given;
  std::vector<bool> needs;
  for (const size_t i : traced_.tangents) {
    if (!grads.at(i).defined()) continue;
    given.push_back(i);
    all.push_back(grads[i]);
  }
  for (const Value& v : all) needs.push_back(needs_gradient(v));
  for (const size_t i : traced_.gradients) needs[i] = true;
  std::shared_ptr<CompiledFunction> function;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<CompiledFunction>& kept = twice_[{given, needs, {inner.begin(), inner.end()}}];
    if (!kept) kept = compile_twice(given, needs, inner);
    function = kept;
  }
  const WithRandomStates drawing(random);
  const std::vector<Value> results = (*function)(all);
  for (size_t i = traced_.gradients.size(); i < results.size(); ++i)
    found.push_back(is_tensor(results[i]) ? results[i].get<Tensor>() : Tensor());
  return by_input(results);
}

// Note [Gradients as a program]
std::shared_ptr<CompiledFunction> CompiledFunction::compile_twice(std::vector<size_t> given,
                                                                  const std::vector<bool>& needs,
                                                                  Span<uint32_t> inner) const {
  TAEDA_CHECK(traced_.written_back.empty(),
              "aot_autograd does not support input mutations with requires_grad in backward for "
              "create_graph=True");
  TAEDA_CHECK_KIND(ErrorKind::NotImplemented, sharing_.inputs.empty(),
                   "gradients of the gradients of a compiled program that writes to inputs which "
                   "share memory");
  TAEDA_CHECK_KIND(ErrorKind::NotImplemented, trace_again_,
                   "gradients of the gradients of a compiled program that is not there any more");
  std::vector<Value> like;
  const std::vector<fx::Node*> placeholders = traced_.graph->placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    if (i >= num_inputs_ && !std::ranges::count(given, traced_.tangents.at(i - num_inputs_)))
      continue;
    like.push_back(placeholders[i]->val());
    if (!needs[like.size() - 1]) continue;
    const Tensor t = autograd::detached(like.back().get<Tensor>());
    autograd::set_requires_grad(t, true);
    like.back() = Value(t);
  }
  AotOptions options = options_;
  // Attention in one call has gradients, which have none.
  options.make_watcher = nullptr;
  std::vector<fx::GradientOrder> orders = orders_;
  orders.push_back({std::move(given), traced_.gradients, {inner.begin(), inner.end()}});
  Compiler compiler(like, options, true, begins_without_grad_);
  fx::RetraceOptions trace = compiler.options();
  trace.orders = orders;
  const autograd::WithoutSavedTensorHooks unseen;
  return compiler.compile(
      trace_again_(like, trace), [&](const std::string& name) { return attributes_.at(name); },
      trace_again_, std::move(orders));
}

}  // namespace taeda::aot
