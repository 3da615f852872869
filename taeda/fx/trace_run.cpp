// The layers of a trace, put together.
#include "taeda/fx/trace_run.h"

#include <algorithm>
#include <utility>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/overwritten.h"
#include "taeda/autograd/reach.h"
#include "taeda/autograd/saved.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/epilogue.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

bool is_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

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

// Whether a result lies in the memory of an operand or of another result.
bool shares_memory(const Values& operands, const Values& results) {
  std::unordered_set<const StorageImpl*> taken;
  const auto note = [&](const Tensor& t) { return taken.insert(t.storage().get()).second; };
  for (const Value& v : operands) for_each_tensor(v, note);
  bool is_shared = false;
  for (const Value& v : results)
    for_each_tensor(v, [&](const Tensor& t) { is_shared |= !note(t); });
  return is_shared;
}

void check_options(const RetraceOptions& options) {
  TAEDA_CHECK(!options.differentiates || !options.is_before_autograd,
              "a trace before autograd has no gradients");
  TAEDA_CHECK(options.fakes_inputs || (!options.functionalizes && !options.differentiates),
              "a trace on the inputs themselves is neither functional nor has gradients");
  TAEDA_CHECK(!options.keeps_aliases || options.functionalizes,
              "a trace with an epilogue is functional");
  TAEDA_CHECK(options.orders.empty() || (options.differentiates && options.keeps_aliases),
              "gradients as a program are a joint graph with an epilogue");
}

}  // namespace

void append_leaves(const Value& v, std::vector<Value>& leaves) {
  if (v.is<std::shared_ptr<Value::List>>()) {
    for (const Value& item : *v.get<std::shared_ptr<Value::List>>()) append_leaves(item, leaves);
  } else if (v.is<std::vector<Tensor>>()) {
    for (const Tensor& t : v.get<std::vector<Tensor>>()) leaves.emplace_back(t);
  } else {
    leaves.push_back(v);
  }
}

FreshThread::FreshThread()
    : keys_(local_keys()), modes_(dispatch::modes()), is_inference_(is_inference_mode()) {
  dispatch::set_modes({});
  local_keys() = {KeySet(Key::ADInplaceOrView), KeySet()};
  set_inference_mode(false);
}

FreshThread::~FreshThread() {
  set_inference_mode(is_inference_);
  dispatch::set_modes(std::move(modes_));
  local_keys() = keys_;
}

void copy_facts(Node& made, const Node& from) {
  for (const char* key : {"stack_trace", "nn_module_stack", "source_fn_stack", "custom"})
    if (Value v = from.meta_value(key); !v.is_none()) made.set_meta_value(key, std::move(v));
}

// Each element of a result has a gradient of its own.
SymIntVec tangent_strides(const Tensor& t) {
  if (t.impl()->is_non_overlapping_and_dense()) return SymIntVec(t.sym_strides());
  SymIntVec strides(static_cast<size_t>(t.dim()), SymInt(1));
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * t.sym_sizes()[d];
  return strides;
}

// ---- origins ----

void Origins::enter(const Node& node) {
  now_ = &node;
  starts_.emplace_back(autograd::autograd_detail::next_sequence_nr, &node);
}

const Node* Origins::now() const {
  const autograd::Node* running = autograd::current_node();
  if (now_ || !running) return now_;
  const auto later =
      std::upper_bound(starts_.begin(), starts_.end(), running->sequence_nr(),
                       [](uint64_t number, const auto& start) { return number < start.first; });
  return later == starts_.begin() ? nullptr : std::prev(later)->second;
}

namespace {

// Those of the program that this thread traces.
thread_local Origins* running_origins = nullptr;

struct RunningOrigins {
  explicit RunningOrigins(Origins& origins) : before(std::exchange(running_origins, &origins)) {}
  ~RunningOrigins() { running_origins = before; }
  Origins* before;
};

}  // namespace

void note_origin(const Node& node) {
  if (running_origins) running_origins->enter(node);
}

// ---- layers ----

TraceRun::TraceRun(const std::vector<Value>& inputs, const RetraceOptions& options,
                   const EarlierRun* earlier)
    : options_(options),
      given_(inputs),
      told_(earlier),
      fake_mode_(options.fake_mode),
      tracer_(options.tracer) {
  check_options(options);
  if (told_) next_ = *told_;
  if (options.fakes_inputs && !fake_mode_) fake_mode_ = fake_mode_for(inputs);
  if (!tracer_) make_layers();
  if (!options.outer) return;
  tracer_->take_settings(*options.outer);
  if (!options.outer->asserted()) return;
  options.outer->write_asserts();
  tracer_->write_asserts_of(options.outer->asserted());
}

void TraceRun::make_layers() {
  tracer_ = make_intrusive<Tracer>(make_intrusive<Graph>());
  tracer_->is_before_autograd = options_.is_before_autograd;
  tracer_->opened = options_.opened;
  tracer_->skips_given_asserts = !options_.writes_given_asserts;
  tracer_->decompose = options_.functionalizes ? options_.decompose : without_functions();
  tracer_->on_node = [this](Node& made) { note(made); };
  if (options_.writes_asserts && fake_mode_->options().shape_env) {
    const IntrusivePtr<ShapeEnv>& env = fake_mode_->options().shape_env;
    if (!told_) next_.first_assert = env->runtime_asserts().size();
    tracer_->write_asserts_of(env, next_.first_assert);
  }
  if (!options_.functionalizes) return;
  functional_ = make_intrusive<FunctionalMode>(fake_mode_);
  functional_->is_before_autograd = options_.is_before_autograd;
  functional_->decompose = options_.decompose;
  functional_->rewrite_regions = [this](dispatch::Operator& op, dispatch::Stack& stack) {
    retrace_regions(op, stack);
  };
  // Inside autocast regions casts are part of the graph.
  tracer_->is_below_autocast = options_.is_before_autograd;
}

std::optional<Retraced> TraceRun::run(Program program) {
  std::optional<autograd::GradMode> recording;
  if (!options_.stays_on_thread || options_.begins_without_grad)
    // How views were made is told outside, also where nothing requires gradients yet.
    recording.emplace(options_.differentiates ||
                      (options_.keeps_aliases && !options_.begins_without_grad));
  add_inputs();
  std::vector<Value> results;
  {
    std::optional<Active> active(std::in_place, *this);
    {
      const IntrusivePtr<dispatch::Mode> watcher =
          options_.make_watcher ? options_.make_watcher() : nullptr;
      std::optional<dispatch::ActiveMode> watching;
      if (watcher) watching.emplace(*watcher);
      const RunningOrigins running(origins_);
      if (functional_) functional_->is_running = true;
      results = options_.orders.empty() ? results_of(program, seen_.inputs) : gradients_of(program);
    }
    origins_.leave_forward();
    if (!functional_) active.reset();
    if (!finish(results)) return std::nullopt;
  }
  tracer_->write_asserts();
  if (options_.outer) options_.outer->write_asserts_of(options_.outer->asserted());
  made_.graph = tracer_->graph_ptr();
  made_.graph->output(Arg::tuple(std::move(returned_)));
  made_.constants = tracer_->constants();
  return std::move(made_);
}

std::vector<Value> TraceRun::results_of(Program program, const std::vector<Value>& inputs) const {
  // It may end in another mode, and run again.
  const autograd::GradMode mode(!options_.begins_without_grad && autograd::grad_enabled());
  std::vector<Value> results;
  append_leaves(program(inputs), results);
  return results;
}

Tensor TraceRun::attribute(const std::string& name, const Tensor& real) {
  for (const auto& [known, t] : attributes_)
    if (known == name) return t;
  const Tensor value = fake_like(real);
  tracer_->add_attribute(name, value);
  attributes_.emplace_back(name, shown(value));
  return attributes_.back().second;
}

std::optional<Values> TraceRun::keep_scope(bool is_enabled, const RegionValue& scope,
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
    if (is_tensor(v)) v = Value(shown(v.get<Tensor>()));
  return seen;
}

// Of regions inside.
RetraceOptions TraceRun::inner_options() const {
  RetraceOptions inner = options_;
  inner.fake_mode = fake_mode_;
  inner.keeps_aliases = false;        // what a region gives are values
  inner.begins_without_grad = false;  // which holds around the region
  inner.stays_on_thread = false;      // regions are graphs, and this thread's tracer is ours
  inner.names.clear();
  inner.fakes.clear();
  inner.orders.clear();  // those are of the program
  inner.make_watcher = nullptr;
  return inner;
}

// Seen by the fake mode alone.
Values TraceRun::fake_results(const Graph& graph, const Values& operands) {
  const FreshThread thread;
  const dispatch::ActiveMode fake(*fake_mode_);
  return items(Plan(graph).run(operands));
}

void TraceRun::retrace_regions(dispatch::Operator& op, dispatch::Stack& stack) {
  const ControlFlow* flow = find_control_flow(op);
  if (!flow) return;
  // What a region states holds where it runs, and nowhere else.
  tracer_->write_asserts();
  rewrite_regions(*flow, stack, inner_options());
  if (options_.writes_asserts) tracer_->write_asserts_of(fake_mode_->options().shape_env);
}

// Decomposes where nothing is functionalized; regions are retraced there too.
std::function<bool(dispatch::Operator&, dispatch::Stack&)> TraceRun::without_functions() {
  return [this](dispatch::Operator& op, dispatch::Stack& stack) {
    if (options_.decompose && options_.decompose(op, stack)) return true;
    retrace_regions(op, stack);
    return false;
  };
}

void TraceRun::note(Node& made) {
  const Node* from = origins_.now();
  if (from) copy_facts(made, *from);
  if (autograd::current_node()) made.set_meta_value("partitioner_tag", Value("is_backward"));
  if (is_replayed_) made.set_meta_value(kReplayedMeta, Value(true));
  if (options_.on_node) options_.on_node(made, from);
}

// ---- results ----

Value TraceRun::value_of(const Value& v) {
  if (!functional_ || !is_tensor(v)) return v;
  const InsideMode below(*this);
  return functional_->value(v.get<Tensor>());
}

bool TraceRun::finish(const std::vector<Value>& results) {
  if (functional_ && !note_written()) return false;
  check_attributes();
  check_grads();
  made_.num_results = results.size();
  const std::vector<Tensor> roots =
      options_.keeps_aliases ? give_with_epilogue(results) : give_values(results);
  made_.num_values = roots.size();
  return !options_.differentiates || differentiate(roots);
}

std::vector<Tensor> TraceRun::give_values(const std::vector<Value>& results) {
  std::vector<Value> all;
  for (const size_t i : made_.written) all.push_back(seen_.inputs[i]);
  all.insert(all.end(), results.begin(), results.end());
  std::vector<Tensor> roots;
  for (const Value& v : all) {
    give(v);
    const bool has_gradient = is_tensor(v) && autograd::requires_grad(v.get<Tensor>());
    roots.push_back(has_gradient ? v.get<Tensor>() : Tensor());
  }
  return roots;
}

namespace {

bool have_equal_strides(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.sym_sizes()[d] != SymInt(1) && a.sym_strides()[d] != b.sym_strides()[d]) return false;
  return true;
}

// Whether no two elements share memory: along the next larger stride all that lies below fits.
bool do_elements_lie_apart(const Tensor& t) {
  std::vector<std::pair<SymInt, SymInt>> axes;  // stride and size
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.sym_sizes()[d] > SymInt(1)) axes.emplace_back(t.sym_strides()[d], t.sym_sizes()[d]);
  std::sort(axes.begin(), axes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  SymInt last(0);
  for (const auto& [stride, size] : axes) {
    if (stride <= last) return false;
    last = last + stride * (size - SymInt(1));
  }
  return true;
}

// A copy as the tensor lies: what is one element along a dimension (expand) is one in the copy.
// Elements that share memory otherwise (unfold) come to lie apart.
Tensor copy_with_strides(const Tensor& t) {
  Tensor one = t;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.sym_sizes()[d] > SymInt(1) && t.sym_strides()[d] == SymInt(0)) one = one.narrow(d, 0, 1);
  Tensor copied = taeda::clone(one);
  if (!have_equal_strides(copied, one) && do_elements_lie_apart(one))
    copied = taeda::copy(one.new_empty_strided(one.sym_sizes(), one.sym_strides()), one);
  return one.is_same(t) ? copied : copied.expand(t.sym_sizes());
}

}  // namespace

Epilogue TraceRun::epilogue_of(const Seen& seen, const std::vector<Value>& results) {
  const auto value = [&](const Value& v) { return value_of(v); };
  const auto copy = [&](const Tensor& t) {
    const InsideMode below(*this);
    return copy_with_strides(t);
  };
  return write_epilogue(
      {*tracer_, *functional_, seen.values, seen.inputs, seen.histories, seen.memories, seen.looks,
       seen.had_gradients, seen.versions, !options_.begins_without_grad, value, copy},
      results);
}

std::vector<Tensor> TraceRun::give_with_epilogue(const std::vector<Value>& results) {
  for (const Source& source : sources_)
    for (const size_t i : source.inputs)
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                       autograd::requires_grad(seen_.inputs[i].get<Tensor>()), "input ", i,
                       " loses its history in the program (detach_)");
  Epilogue epilogue = epilogue_of(seen_, results);
  std::vector<Tensor> roots;
  for (Epilogue::Given& given : epilogue.values) {
    returned_.push_back(std::move(given.arg));
    roots.push_back(std::move(given.root));
  }
  made_.epilogue = std::move(epilogue.graph);
  return roots;
}

// Whether the program changed sizes or strides of an input.
bool TraceRun::looks_otherwise(size_t i) const {
  return Look(seen_.inputs[i].get<Tensor>()) != seen_.looks[i];
}

bool TraceRun::note_written() {
  for (size_t i = 0; i < seen_.inputs.size(); ++i)
    if (is_tensor(seen_.inputs[i]) && functional_->is_written(seen_.inputs[i].get<Tensor>()))
      made_.written.push_back(i);
  if (told_) return true;
  for (SharedMemory& memory : find_shared_memories(given_)) {
    const bool is_written = std::any_of(memory.inputs.begin(), memory.inputs.end(), [&](size_t i) {
      return std::ranges::count(made_.written, i) > 0 || looks_otherwise(i);
    });
    if (!is_written) continue;
    check_line(memory, given_, options_.differentiates);
    next_.memories.push_back(std::move(memory));
  }
  return next_.memories.empty();
}

void TraceRun::check_attributes() {
  for (const auto& [name, t] : attributes_)
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !functional_ || !functional_->is_written(t),
                     "the program writes to the attribute ", name, "; pass it as an input");
}

// An accumulated gradient is no value of the graph.
void TraceRun::check_grads() const {
  for (const Source& source : sources_) {
    const autograd::AutogradMetaImpl* meta = autograd::meta_or_null(source.leaf.impl());
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !meta || !meta->grad.defined(),
                     "the program accumulates into .grad of input ", source.inputs.front(),
                     " while it is traced; autograd.grad gives gradients as values");
  }
}

// A further input, behind the others.
Tensor TraceRun::tangent_of(const Tensor& root) {
  Graph& graph = tracer_->graph();
  Node* first = graph.first();
  while (first->op() == OpCode::Placeholder) first = first->next();
  const InsertBefore inputs(graph, *first);
  const SymIntVec strides = tangent_strides(root);
  const Tensor value =
      fake_mode_->from_tensor(root, root.sym_sizes(), SymIntList(strides), SymInt(0));
  value.impl()->set_requires_grad_flag(false);
  tracer_->add_input(str("tangents_", made_.tangents.size()), value);
  return shown(value);
}

// What a backward from value `i` raises, as far as that is known before it runs.
std::optional<std::string> TraceRun::overwritten_error(size_t i, const Tensor& root,
                                                       const std::vector<Tensor>& wanted) const {
  for (const auto& [known, error] : next_.overwritten)
    if (known == i) return error;
  if (!options_.keeps_aliases) return std::nullopt;
  const std::optional<Error> error = autograd::overwritten_error(root, wanted);
  return error ? std::optional<std::string>(error->message()) : std::nullopt;
}

// Before the backward, which takes histories apart.
void TraceRun::note_parts(const std::vector<Tensor>& roots, const std::vector<Tensor>& wanted) {
  const std::vector<std::vector<bool>> reached = autograd::reached_inputs(roots, wanted);
  for (size_t i = 0; i < sources_.size() && made_.overwritten.empty(); ++i)
    if (std::ranges::none_of(reached, [i](const auto& of_root) { return of_root[i]; }))
      made_.unreached.insert(made_.unreached.end(), sources_[i].inputs.begin(),
                             sources_[i].inputs.end());
  if (roots.size() < 2) return;
  const auto is_whole = [](const std::vector<bool>& row) {
    return std::ranges::count(row, false) == 0;
  };
  if (std::ranges::all_of(reached, is_whole)) return;
  for (const size_t input : made_.gradients) {
    const auto source = std::ranges::find_if(
        sources_, [&](const Source& s) { return std::ranges::count(s.inputs, input) > 0; });
    const auto number = static_cast<size_t>(source - sources_.begin());
    std::vector<bool>& row = made_.parts_of.emplace_back();
    for (const std::vector<bool>& of_root : reached) row.push_back(of_root[number]);
  }
}

// Behind the program's own hooks, as those that are registered on its result.
void TraceRun::mark_gradient(const Tensor& root, size_t value) {
  if (autograd::is_leaf(root)) return;
  autograd::register_hook(root, [this, value](const Tensor& grad) {
    if (!grad.defined()) return Tensor();
    Node* const node = tracer_->node_of(value_of(Value(grad)).get<Tensor>());
    if (node && node->op() != OpCode::Placeholder && node->meta_value(kGradientMeta).is_none())
      node->set_meta_value(kGradientMeta, Value(static_cast<int64_t>(value)));
    return Tensor();
  });
}

void TraceRun::find_overwritten(const std::vector<Tensor>& roots,
                                const std::vector<Tensor>& tangents,
                                const std::vector<Tensor>& wanted) {
  const autograd::OverwrittenErrors& errors = autograd::overwritten_errors();
  const std::exception_ptr first = std::exchange(next_.error, nullptr);
  const size_t known = next_.overwritten.size();
  for (size_t i = 0; i < roots.size(); ++i) {
    const uint64_t before = errors.count;
    try {
      autograd::run_backward({roots[i]}, {tangents[i]}, true, false, wanted, true, false);
    } catch (...) {
      if (errors.count == before) throw;
      next_.overwritten.emplace_back(made_.tangents[i], errors.last);
    }
  }
  if (next_.overwritten.size() == known) std::rethrow_exception(first);
}

bool TraceRun::differentiate(const std::vector<Tensor>& given) {
  std::vector<Tensor> roots, tangents, wanted, by_input(seen_.inputs.size());
  for (const Source& source : sources_) {
    made_.gradients.insert(made_.gradients.end(), source.inputs.begin(), source.inputs.end());
    wanted.push_back(source.leaf);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) continue;
    if (const std::optional<std::string> error = overwritten_error(i, given[i], wanted)) {
      made_.overwritten.emplace_back(i, *error);
      continue;
    }
    made_.tangents.push_back(i);
    roots.push_back(given[i]);
    tangents.push_back(tangent_of(given[i]));
  }
  if (options_.begins_without_grad && roots.empty() && made_.overwritten.empty()) {
    made_.gradients.clear();
    return true;
  }
  std::sort(made_.gradients.begin(), made_.gradients.end());
  note_parts(roots, wanted);
  for (size_t i = 0; i < roots.size(); ++i) mark_gradient(roots[i], made_.tangents[i]);
  std::vector<uint64_t> writes;
  for (const Value& v : seen_.inputs)
    writes.push_back(is_tensor(v) ? functional_->num_writes(v.get<Tensor>()) : 0);
  if (!roots.empty() && !wanted.empty()) {
    const auto scope = options_.backward_scope ? options_.backward_scope() : nullptr;
    std::vector<size_t> arrivals;
    if (next_.error) {
      find_overwritten(roots, tangents, wanted);
      return false;
    }
    std::vector<Tensor> found;
    const uint64_t before = autograd::overwritten_errors().count;
    try {
      found = autograd::run_backward(roots, tangents, false, false, wanted, true, false, &arrivals);
    } catch (...) {
      if (!options_.keeps_aliases || autograd::overwritten_errors().count == before) throw;
      next_.error = std::current_exception();
      return false;
    }
    for (const size_t i : arrivals)
      made_.arrivals.insert(made_.arrivals.end(), sources_[i].inputs.begin(),
                            sources_[i].inputs.end());
    for (size_t i = 0; i < found.size(); ++i) split(sources_[i], found[i], by_input);
  }
  for (const size_t i : made_.gradients) give(by_input[i].defined() ? Value(by_input[i]) : Value());
  for (size_t i = 0; i < seen_.inputs.size(); ++i) {
    if (!is_tensor(seen_.inputs[i])) continue;
    if (functional_->num_writes(seen_.inputs[i].get<Tensor>()) == writes[i]) continue;
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, options_.keeps_aliases,
                     "the backward writes to input ", i);
    made_.written_back.push_back(i);
    give(seen_.inputs[i]);
  }
  return true;
}

}  // namespace taeda::fx
