// Records operators as nodes of a graph.
#include "taeda/fx/tracer.h"

#include "taeda/autograd/variable.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/control_flow/operators.h"
#include "taeda/fx/regions.h"
#include "taeda/ops/graph/operators.h"

namespace taeda::fx {
namespace {

using dispatch::Tag;

// The call's results as one value: itself, None, or a list.
Value one_value(const Stack& stack) {
  if (stack.size() == 1) return stack[0];
  if (stack.empty()) return {};
  return std::make_shared<Value::List>(stack);
}

bool returns_tensors(const Operator& op) {
  for (const dispatch::Argument& r : schema_of(op).returns)
    if (r.type.base == "Tensor") return true;
  return false;
}

// Whether a conversion changes nothing: it gives the tensor itself, as PyTorch's bindings do.
bool gives_itself(Operator& op, const Stack& arguments) {
  if (!op.traits.gives_itself) return false;
  Stack stack = arguments;
  dispatch::call_boxed(op, stack);
  return stack[0].get<Tensor>().impl() == arguments[0].get<Tensor>().impl();
}

// A composite that is recorded whole: the number it reads is a value of the graph.
bool is_item(const Operator& op) {
  return op.has(Tag::DataDependentOutput) && schema_of(op).returns.at(0).type.base == "Scalar";
}

bool is_known_number(const Value& v) {
  return v.is_scalar() && !v.is<SymInt>() && !v.is<IntrusivePtr<SymNode>>();
}

}  // namespace

Node& Tracer::add_input(std::string_view name, const Value& value) {
  Node& node = graph_->placeholder(name);
  describe(node, value);
  track_results(node, value);
  return node;
}

Node& Tracer::add_attribute(std::string_view name, const Tensor& value) {
  Node& node = graph_->get_attr(name);
  describe(node, value);
  track(value, node);
  return node;
}

void Tracer::track(const Tensor& t, Node& node) {
  if (!t.defined()) return;
  tracked_[t.impl()] = {WeakPtr<TensorImpl>(t.impl_ptr()), IntrusivePtr<Node>::share(&node)};
  if (t.impl()->has_symbolic_sizes()) note_symbols(t, node);
}

Node* Tracer::node_of(const Tensor& t) const {
  auto it = tracked_.find(t.impl());
  return it == tracked_.end() || it->second.node->is_erased() ? nullptr : it->second.node.get();
}

std::vector<Node*> Tracer::live_nodes() const {
  std::unordered_set<const Node*> live;
  for (const auto& [impl, tracked] : tracked_)
    if (tracked.key.lock()) live.insert(tracked.node.get());
  std::vector<Node*> found;
  for (Node& n : *graph_)
    if (n.op() == OpCode::CallFunction && live.count(&n)) found.push_back(&n);
  return found;
}

void Tracer::track_results(Node& node, const Value& results) {
  if (results.is<Tensor>()) return track(results.get<Tensor>(), node);
  if (results.is<SymInt>() && results.get<SymInt>().is_symbolic())
    return track(*results.get<SymInt>().node(), node);
  if (results.is<IntrusivePtr<SymNode>>())
    return track(*results.get<IntrusivePtr<SymNode>>(), node);
  auto part = [&](size_t i, const Value& v) {
    Node& item = graph_->call(get_builtin("getitem"), {Arg(node), Arg(static_cast<int64_t>(i))});
    describe(item, v);
    track_results(item, v);
  };
  if (results.is<std::vector<Tensor>>()) {
    const auto& tensors = results.get<std::vector<Tensor>>();
    for (size_t i = 0; i < tensors.size(); ++i) part(i, tensors[i]);
  } else if (results.is<std::shared_ptr<Value::List>>()) {
    const auto& items = *results.get<std::shared_ptr<Value::List>>();
    for (size_t i = 0; i < items.size(); ++i)
      if (!items[i].is_none()) part(i, items[i]);
  }
}

Node& Tracer::record(const Builtin& function, std::vector<Arg> args, const Value& results) {
  write_asserts();
  Node& node = graph_->call(function, std::move(args));
  describe(node, results);
  if (on_node) on_node(node);
  track_results(node, results);
  return node;
}

Node* Tracer::record_mode(const Builtin& function, std::vector<Arg> args) {
  if (!is_before_autograd || !records_modes) return nullptr;
  Node& node = graph_->call(function, std::move(args));
  if (on_node) on_node(node);
  return &node;
}

void Tracer::take_settings(const Tracer& outer) {
  decompose = outer.decompose;
  is_parameter = outer.is_parameter;
  on_node = outer.on_node;
  refuses_values = outer.refuses_values;
  skips_given_asserts = outer.skips_given_asserts;
  is_before_autograd = outer.is_before_autograd;
  opened = outer.opened;
  is_of_program = outer.is_of_program;
  records_modes = is_of_program;
  is_below_autocast = outer.is_before_autograd;
}

void Tracer::take_settings_of_program(const Tracer& program) {
  take_settings(program);
  is_of_program = records_modes = true;
  is_before_autograd = is_below_autocast = true;
  decompose = nullptr;
  opened.clear();
}

Node& Tracer::constant_node(const Tensor& t) {
  TAEDA_CHECK(!is_fake(t),
              "a fake tensor that the trace has not seen made cannot be its constant: it has no "
              "values. Pass it as an argument, or make it inside the function");
  const char* prefix = is_parameter && is_parameter(t) ? "_param_constant" : "_tensor_constant";
  size_t count = 0;
  for (const auto& [name, value] : constants_) count += name.starts_with(prefix);
  constants_.emplace_back(str(prefix, count), t);
  Node& node = graph_->get_attr(constants_.back().first);
  node.set_val(example(t));
  track(t, node);
  return node;
}

Arg Tracer::tensor_arg(const Tensor& t) {
  if (Node* n = node_of(t)) return Arg(n);
  if (t.impl()->is_wrapped_number()) return arg_of(Value(read_scalar(t)));
  return Arg(constant_node(t));
}

Arg Tracer::arg_of(const Value& v) {
  if (v.is<Tensor>()) return v.get<Tensor>().defined() ? tensor_arg(v.get<Tensor>()) : Arg();
  if (v.is<SymInt>() && v.get<SymInt>().is_symbolic()) return symbol_arg(*v.get<SymInt>().node());
  if (v.is<IntrusivePtr<SymNode>>()) return symbol_arg(*v.get<IntrusivePtr<SymNode>>());
  if (v.is<Generator>() && v.get<Generator>().defined())
    fail(ErrorKind::NotImplemented,
         "argument of type: Generator cannot be a value of a graph; leave it out to draw from the "
         "default one");
  if (const RegionValue* region = find_region(v)) return Arg(region->graph());
  std::vector<Arg> items;
  auto list = [&](const auto& values) {
    for (const auto& each : values) items.push_back(arg_of(Value(each)));
    return Arg::list(std::move(items));
  };
  if (v.is<std::vector<Tensor>>()) return list(v.get<std::vector<Tensor>>());
  if (v.is<std::vector<SymInt>>()) return list(v.get<std::vector<SymInt>>());
  if (v.is<std::shared_ptr<Value::List>>()) return list(*v.get<std::shared_ptr<Value::List>>());
  return Arg(v);
}

CallArgs Tracer::flow_args(const Operator& op, const ControlFlow& flow, const Stack& stack) {
  CallArgs call;
  call.args.resize(stack.size());
  size_t num_regions = 0, num_lists = 0;
  for (size_t i = 0; i < stack.size(); ++i)
    if (const RegionValue* region = find_region(stack[i]))
      call.args[i] = name_region ? name_region(op, num_regions++, *region) : Arg(region->graph());
  for (size_t i = 0; i < stack.size(); ++i) {
    if (find_region(stack[i])) continue;
    const bool is_list = stack[i].is<std::shared_ptr<Value::List>>();
    if (!is_list || flow.brackets[num_lists++] == '[') {
      call.args[i] = arg_of(stack[i]);
      continue;
    }
    std::vector<Arg> operands;
    for (const Value& v : items(stack[i])) operands.push_back(arg_of(v));
    call.args[i] = Arg::tuple(std::move(operands));
  }
  return call;
}

Value Tracer::example(const Value& result) {
  if (result.is<Tensor>()) {
    const Tensor& t = result.get<Tensor>();
    if (!t.defined()) return {};
    if (is_fake(t)) {
      const ExcludeKeys below(KeySet(Key::ADInplaceOrView));
      return make_alias_sym(t, t.sym_sizes(), t.sym_strides(), t.impl()->sym_storage_offset());
    }
    if (!examples_) examples_ = make_intrusive<FakeMode>(FakeMode::Options());
    Tensor known =
        examples_->from_tensor(t, t.sym_sizes(), t.sym_strides(), t.impl()->sym_storage_offset());
    known.impl()->set_requires_grad_flag(false);
    return known;
  }
  if (result.is<std::vector<Tensor>>()) {
    auto list = std::make_shared<Value::List>();
    for (const Tensor& t : result.get<std::vector<Tensor>>()) list->push_back(example(t));
    return list;
  }
  if (result.is<std::shared_ptr<Value::List>>()) {
    auto list = std::make_shared<Value::List>();
    for (const Value& v : *result.get<std::shared_ptr<Value::List>>()) list->push_back(example(v));
    return list;
  }
  return result;
}

void Tracer::describe(Node& node, const Value& result) {
  node.set_val(example(result));
  // The host language makes PyTorch's `tensor_meta` of it when it is asked for.
  if (result.is<Tensor>() && result.get<Tensor>().defined())
    node.set_meta_value("tensor_meta", Value(autograd::requires_grad(result.get<Tensor>())));
}

// ---- Note [Known values] ----

// Whether every tensor among the arguments is known, and there is one. Fake tensors know by
// themselves.
bool Tracer::are_known(const Stack& stack) const {
  bool all = true, any = false;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) {
      if (t.impl()->is_wrapped_number()) return;
      const auto it = known_.find(t.impl());
      all &= is_fake(t) || (it != known_.end() && it->second.lock());
      any = true;
    });
  return all && any;
}

void Tracer::note_known(const Stack& results) {
  for (const Value& v : results)
    for_each_tensor(v, [&](const Tensor& t) {
      const bool is_number = !t.impl()->has_symbolic_sizes() && t.numel() <= 1;
      if (is_number && !is_fake(t)) known_[t.impl()] = WeakPtr<TensorImpl>(t.impl_ptr());
    });
}

void Tracer::forget_known(const Operator& op, const Stack& arguments) {
  if (known_.empty()) return;
  const std::vector<dispatch::Argument>& schema = schema_of(op).arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!schema[i].is_written) continue;
    for_each_tensor(arguments[i], [&](const Tensor& t) {
      std::erase_if(known_, [&](const auto& entry) {
        const IntrusivePtr<TensorImpl> known = entry.second.lock();
        return !known || known->storage().get() == t.storage().get();
      });
    });
  }
}

void Tracer::assert_metadata(const Tensor& t) {
  Node& node =
      graph_->create(OpCode::CallFunction, ops::_assert_tensor_metadata, {arg_of(Value(t))},
                     {{"dtype", Arg(Value(t.dtype()))},
                      {"device", Arg(Value(t.device()))},
                      {"layout", Arg(Value(t.layout()))}},
                     "_assert_tensor_metadata_default");
  if (on_node) on_node(node);
}

bool Tracer::run_decomposition(Operator& op, Stack& stack) {
  if (!decompose) return false;
  const dispatch::ActiveMode active(*this);
  return decompose(op, stack);
}

bool Tracer::offer_early(Operator& op, Stack& stack) {
  const LocalKeys& keys = local_keys();
  if (is_below_autocast && (keys.include - keys.exclude).has(Key::Autocast)) return false;
  if (opened.count(&op)) return false;
  if (op.is_composite && !is_item(op) && !returns_tensors(op) && !only_checks_tensor(schema_of(op)))
    return false;
  return offer(op, stack);
}

void Tracer::run(Operator& op, Stack& stack) {
  if (run_decomposition(op, stack)) return;
  const bool reads_value = op.has(Tag::DataDependentOutput);
  bool is_traced = false;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) { is_traced |= node_of(t) != nullptr; });
  if (reads_value && !is_traced) return dispatch::call_boxed(op, stack);

  if (gives_itself(op, stack)) return stack.resize(1);
  const bool is_known =
      !op.has(Tag::NondeterministicSeeded) && (op.traits.lifts_constant || are_known(stack));
  if (!is_known) forget_known(op, stack);
  if (asserted_ && op.traits.metadata_decides) assert_metadata(stack[0].get<Tensor>());
  const ControlFlow* flow = find_control_flow(op);
  CallArgs call = flow ? flow_args(op, *flow, stack)
                       : call_args(op, stack, [&](const Value& v) { return arg_of(v); });
  dispatch::call_boxed(op, stack);
  const bool is_number_read = reads_value && is_known_number(stack[0]);
  if (is_number_read && is_known) return;
  TAEDA_CHECK(!is_number_read || !refuses_values,
              "It appears that you're trying to get value out of a tracing tensor with aten.",
              op.full_name(), *op.overload ? "" : ".default",
              " - erroring out! It's likely that this is caused by data-dependent control flow or "
              "similar.  It may be possible to trace this with dynamic shapes; try setting "
              "tracing_mode='symbolic' in your make_fx call.");
  write_asserts();
  Node& node = graph_->call(op, std::move(call.args), std::move(call.kwargs));
  const Value result = one_value(stack);
  const ExcludeKeys metadata(dispatch::kAboveHandlers);
  describe(node, result);
  if (op.has(Tag::NondeterministicSeeded)) node.set_meta_value(kDrawMeta, Value(draw_place++));
  if (on_node) on_node(node);
  track_results(node, result);
  if (is_known) note_known(stack);
}

Tracer* active_tracer() {
  const dispatch::ModeStack& modes = dispatch::modes();
  for (size_t i = modes.size(); i-- > 0;)
    if (auto* tracer = dynamic_cast<Tracer*>(modes[i].get())) return tracer;
  return nullptr;
}

}  // namespace taeda::fx
