// Registers the operators of control flow.
#include "taeda/fx/control_flow/operators.h"

#include <array>

#include "taeda/autograd/forward.h"
#include "taeda/dispatch/composites.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/batching.h"

namespace taeda::fx {
namespace {

struct Entry {
  const ControlFlow* flow;
  Operator* op;
};
using Entries = std::array<Entry, 9>;
const Entries& entries();

std::vector<Tensor> tensors_on(const Stack& stack) {
  std::vector<Tensor> found;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { found.push_back(t); });
  return found;
}

const ControlFlow& flow_of(const Operator& op) { return *find_control_flow(op); }

void run_values(const Operator& op, KeySet, Stack& stack, void*) {
  stack = {list(flow_of(op).run(stack))};
}

void go_on(const Operator& op, KeySet keys, Key from, Stack& stack) {
  Operator& callee = const_cast<Operator&>(op);
  callee.call_boxed(callee, keys & KeySet::below(from), stack);
}

// Of kKeptLoop in the place of modes: below the last level it is other calls.
void run_at_modes(const Operator& op, KeySet keys, Stack& stack, void* context) {
  if (keys.has(Key::TransformBack)) return go_on(op, keys, Key::Python, stack);
  run_values(op, keys, stack, context);
}

void run_shapes(const Operator& op, KeySet, Stack& stack, void*) {
  stack = {list(flow_of(op).run_fake(stack))};
}

// The derivatives of an associative scan are those of its parts, and the parts need a level of
// their own, inside of a level that differentiates.
bool comes_apart(const ControlFlow& flow, const Stack& stack) {
  if (&flow != &kAssociativeScan || dispatch::num_levels() == 0) return false;
  const dispatch::Level& level = dispatch::top_level();
  const bool differentiates =
      level.kind == dispatch::LevelKind::Grad || level.kind == dispatch::LevelKind::Jvp;
  return differentiates && dispatch::has_wrapper_at(stack, level.id);
}

void run_front(const Operator& op, KeySet keys, Stack& stack, void* context) {
  if (!is_captured(stack)) return run_values(op, keys, stack, context);
  if (comes_apart(flow_of(op), stack)) {
    stack = {list(combine_in_parts(region(stack[0]), items(stack[1]), items(stack[2])))};
    return;
  }
  if (&flow_of(op) == &kKeptLoop && dispatch::num_levels() == 0)
    return go_on(op, keys, Key::TransformFront, stack);
  dispatch::run_at_front(op, keys, stack, context);
}

void run_autograd(const Operator& op, KeySet keys, Stack& stack, void* context) {
  if (!is_captured(stack)) return run_values(op, keys, stack, context);
  Operator& callee = const_cast<Operator&>(op);
  const auto below = [&] {
    Stack args = stack;
    callee.call_boxed(callee, keys & KeySet::below(Key::Autograd), args);
    return items(args.at(0));
  };
  const std::vector<Tensor> operands = tensors_on(stack);
  if (autograd::any_tangent(TensorList(operands))) {
    const ControlFlow& flow = flow_of(op);
    stack = {
        list(&flow == &kKeptLoop ? keep_steps(stack) : run_with_tangents(callee, flow, stack))};
    return;
  }
  if (!autograd::should_record(TensorList(operands))) {
    stack = {list(below())};
    return;
  }
  stack = {list(flow_of(op).record(callee, stack, below))};
}

void run_batch(Operator& op, const dispatch::BatchRule&, const BatchContext&, Stack& stack) {
  stack = {list(flow_of(op).batch(op, stack))};
}

Operator* define(const ControlFlow& flow) {
  static constexpr dispatch::BatchRule kOverBatch{
      .run = &run_batch, .is_random = false, .keeps_level = true};
  constexpr const char* kWhere = "control flow";
  Operator& op = dispatch::define_operator(flow.schema, kWhere);
  op.batch_rule = &kOverBatch;
  for (int i = 0; i < kNumBackends; ++i) {
    const auto backend = static_cast<DeviceType>(i);
    const dispatch::BoxedFn run = backend == DeviceType::Meta ? &run_shapes : &run_values;
    dispatch::register_kernel(op, slot_of(Key::Dense, backend), nullptr, {run, nullptr}, kWhere);
    dispatch::register_kernel(op, slot_of(Key::Autograd, backend), nullptr,
                              {&run_autograd, nullptr}, kWhere);
  }
  if (&flow == &kKeptLoop)
    dispatch::register_kernel(op, slot_base(Key::Python), nullptr, {&run_at_modes, nullptr},
                              kWhere);
  dispatch::register_kernel(op, slot_base(Key::TransformFront), nullptr, {&run_front, nullptr},
                            kWhere);
  return &op;
}

const Entries& entries() {
  static const Entries all{Entry{&kCond, define(kCond)},
                           Entry{&kWhileLoop, define(kWhileLoop)},
                           Entry{&kWhileLoopStackOutput, define(kWhileLoopStackOutput)},
                           Entry{&kScan, define(kScan)},
                           Entry{&kMap, define(kMap)},
                           Entry{&kAssociativeScan, define(kAssociativeScan)},
                           Entry{&kStreamedAttention, define(kStreamedAttention)},
                           Entry{&kStreamedAttentionBackward, define(kStreamedAttentionBackward)},
                           Entry{&kKeptLoop, define(kKeptLoop)}};
  return all;
}

const bool is_registered = (entries(), true);

}  // namespace

const ControlFlow* find_control_flow(const Operator& op) {
  if (op.table) return nullptr;
  for (const Entry& e : entries())
    if (e.op == &op) return e.flow;
  return nullptr;
}

Operator& operator_of(const ControlFlow& flow) {
  for (const Entry& e : entries())
    if (e.flow == &flow) return *e.op;
  fail(ErrorKind::Internal, "a description without an operator");
}

std::vector<Operator*> control_flow_operators() {
  std::vector<Operator*> all;
  for (const Entry& e : entries())
    if (e.flow != &kKeptLoop) all.push_back(e.op);
  return all;
}

Values call_control_flow(Operator& op, Stack args) {
  dispatch::call_boxed(op, args);
  return items(args.at(0));
}

bool is_captured(const Stack& args) {
  for (const IntrusivePtr<dispatch::Mode>& mode : dispatch::modes()) {
    const dispatch::Mode* m = mode.get();
    if (dynamic_cast<const Tracer*>(m) || dynamic_cast<const FakeMode*>(m)) return true;
  }
  bool has_fake = false;
  for (const Value& v : args)
    for_each_tensor(v, [&](const Tensor& t) {
      has_fake |= is_fake(dispatch::is_batched(t) ? Tensor() : dispatch::plain_value(t));
    });
  return has_fake;
}

namespace {

bool has_values(const Tensor& t) {
  const Tensor inside = values_inside(t);
  return !inside.is_meta() && !is_fake(inside);
}

// Whether values say how often regions run. Of a branch only the predicate matters, and one that
// differs in a batch selects from results.
bool has_values(const Stack& args) {
  if (!find_region(args.at(0))) {
    if (!args[0].is<Tensor>()) return true;
    const Tensor& pred = args[0].get<Tensor>();
    return dispatch::is_batched(pred) || has_values(pred);
  }
  bool all = true;
  for (const Value& v : args) for_each_tensor(v, [&](const Tensor& t) { all &= has_values(t); });
  return all;
}

}  // namespace

Values run_inside(const ControlFlow& flow, const Stack& args) {
  if (has_values(args)) return flow.run(args);
  TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !active_tracer(),
                   "a trace cannot record what runs inside of control flow on tensors without "
                   "values: they do not tell what runs. A mode between the call and the tracer "
                   "must take the operator as one call (supports_higher_order_operators)");
  return flow.run_fake(args);
}

void rewrite_regions(const ControlFlow& flow, Stack& args, const RetraceOptions& options) {
  const std::vector<Values> examples = flow.examples(args);
  RetraceOptions inner = options;
  inner.differentiates = false;
  inner.names.clear();
  size_t at = 0;
  for (Value& v : args) {
    const RegionValue* old = find_region(v);
    if (!old) continue;
    const auto run = [old](Values operands) { return list((*old)(std::move(operands))); };
    const bool is_open = !open_reason(*old->graph()).empty();  // it calls another language
    const Values& operands = examples.at(at++);
    Retraced made = is_open ? trace(run, operands, inner) : retrace(*old->graph(), operands, inner);
    TAEDA_CHECK(made.written.empty(),
                "Encountered input mutation during higher order op tracing: Higher order ops do "
                "not support input mutation; write to a clone");
    TAEDA_CHECK(made.constants.empty(),
                "the function of a control-flow operator makes a tensor of fixed values; pass it "
                "as an operand");
    v = region_value(std::move(made.graph));
  }
}

}  // namespace taeda::fx
