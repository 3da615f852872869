// Control flow on values: regions run as often as values say.
#include "taeda/fx/control_flow/run.h"

#include "taeda/dispatch/levels.h"
#include "taeda/fx/control_flow/shapes.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/trace_run.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {

SymInt length_of(const Values& xs, const char* op) {
  TAEDA_CHECK(!xs.empty(), op, ": there is nothing to go over");
  return xs[0].get<Tensor>().sym_size(0);
}

Values slices(const Values& xs, int64_t i) {
  Values out;
  for (const Value& x : xs) out.push_back(x.get<Tensor>().select(0, SymInt(i)));
  return out;
}

void Stacks::add(Span<Value> results) {
  parts_.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) parts_[i].push_back(results[i].get<Tensor>());
}

Values Stacks::finish() const {
  Values out;
  for (const auto& p : parts_) out.push_back(taeda::stack(p));
  return out;
}

Values part(const Values& values, size_t first, size_t count) {
  const auto start = values.begin() + static_cast<int64_t>(first);
  return Values(start, start + static_cast<int64_t>(count));
}

Tensor values_inside(Tensor t) {
  while (const dispatch::LevelWrapper* w = dispatch::wrapper_of(t)) t = w->value;
  return t;
}

namespace {

constexpr const char* kMerging = "When merging two branches' output in torch.cond, ";

void check_equal(const Value& a, const Value& b) {
  TAEDA_CHECK(same_value(a, b), kMerging, " expected tensors or equal values but got ",
              a.kind_name(), " and ", b.kind_name(), ".");
}

}  // namespace

void check_mergeable(const Value& a, const Value& b) {
  if (is_integer(a) && is_integer(b)) return;
  if (!a.is<Tensor>() || !b.is<Tensor>()) return check_equal(a, b);
  const Tensor &x = a.get<Tensor>(), &y = b.get<Tensor>();
  TAEDA_CHECK(x.dtype() == y.dtype(), kMerging, " expected same dtype but got torch.",
              dtype_name(x.dtype()), " and torch.", dtype_name(y.dtype()), ".");
  TAEDA_CHECK(x.device() == y.device(), kMerging, " expected same device but got ",
              x.device().text(), " and ", y.device().text(), ".");
  TAEDA_CHECK(x.dim() == y.dim(), kMerging, " expected same dim but got ", x.dim(), " and ",
              y.dim(), ".");
}

Values selected(const Tensor& pred, const Values& a, const Values& b) {
  TAEDA_CHECK(a.size() == b.size(), "cond: one branch gives ", a.size(), " results and the other ",
              b.size());
  Values out;
  for (size_t i = 0; i < a.size(); ++i) {
    check_mergeable(a[i], b[i]);
    if (!a[i].is<Tensor>()) {
      check_equal(a[i], b[i]);
      out.push_back(a[i]);
      continue;
    }
    const Tensor &x = a[i].get<Tensor>(), &y = b[i].get<Tensor>();
    TAEDA_CHECK(x.sym_sizes() == y.sym_sizes(), kMerging, " expected same shape but got ",
                x.sym_sizes(), " and ", y.sym_sizes(), ".");
    out.emplace_back(taeda::where(pred.to(DType::Bool), x, y));
  }
  return out;
}

namespace {

bool differs_in_batch(const Value& pred) {
  return pred.is<Tensor>() && dispatch::is_batched(pred.get<Tensor>());
}

Values run_cond(const Stack& a) {
  const Values operands = items(a[3]);
  if (!differs_in_batch(a[0])) return region(truth(a[0]) ? a[1] : a[2])(operands);
  const Values of_true = region(a[1])(operands), of_false = region(a[2])(operands);
  return selected(a[0].get<Tensor>().reshape({}), of_true, of_false);
}

// The rest of a loop from where the condition differs between examples.
Values run_masked(const Stack& a, Values carried, Tensor active) {
  const Values others = items(a[3]);
  while (read_scalar(taeda::any(values_inside(active))).to_bool()) {
    carried = selected(active, region(a[1])(joined(carried, others)), carried);
    const Tensor next = region(a[0])(joined(carried, others)).at(0).get<Tensor>();
    active = taeda::logical_and(next, active);
  }
  return carried;
}

Values run_while(const Stack& a) {
  const Values others = items(a[3]);
  Values carried = items(a[2]);
  bool has_stepped = false;
  while (true) {
    const Value pred = region(a[0])(joined(carried, others)).at(0);
    if (differs_in_batch(pred)) return run_masked(a, std::move(carried), pred.get<Tensor>());
    if (!truth(pred)) break;
    carried = region(a[1])(joined(std::move(carried), others));
    has_stepped = true;
  }
  // The results alias no input, as after a step.
  for (Value& v : carried)
    if (!has_stepped && v.is<Tensor>()) v = v.get<Tensor>().clone();
  return carried;
}

// Without a step, the carried values.
Values run_while_stacked(const Stack& a) {
  const Values others = items(a[3]);
  Values carried = items(a[2]);
  Stacks stacks;
  const auto goes_on = [&] { return truth(region(a[0])(joined(carried, others)).at(0)); };
  if (!goes_on()) {
    stacks.add(carried);
    return stacks.finish();
  }
  do {
    carried = region(a[1])(joined(std::move(carried), others));
    stacks.add(carried);
  } while (goes_on());
  return stacks.finish();
}

// Stacks without rows, of what a step would give behind the values that it carries.
Values no_rows(const Stack& a, size_t num_carried) {
  Values results;
  {
    const FreshThread thread;
    FakeMode::Options options;
    options.allow_non_fake_inputs = true;
    const auto mode = make_intrusive<FakeMode>(std::move(options));
    const dispatch::ActiveMode fake(*mode);
    Values operands = scan_examples(a).at(0);
    for (Value& v : operands)
      if (v.is<Tensor>()) v = Value(mode->from_tensor(v.get<Tensor>()));
    const RegionValue& step = region(a[0]);
    results = step.graph() ? items(Plan(*step.graph()).run(std::move(operands))) : step(operands);
  }
  Values rows;
  for (const Value& v : Span<Value>(results).drop_front(num_carried)) {
    const Tensor& t = v.get<Tensor>();
    SymIntVec sizes(t.sym_sizes());
    sizes.insert(0, SymInt(0));
    rows.emplace_back(taeda::empty(SymIntList(sizes), t.dtype(), {}, t.device()));
  }
  return rows;
}

Values run_scan(const Stack& a) {
  const Values xs = items(a[2]), others = items(a[3]);
  Values carried = items(a[1]);
  const size_t count = carried.size();
  Stacks stacks;
  const int64_t length = length_of(xs, "scan").expect_int();
  if (length == 0) return joined(std::move(carried), no_rows(a, count));
  for (int64_t i = 0; i < length; ++i) {
    const Values results = region(a[0])(joined(joined(std::move(carried), slices(xs, i)), others));
    TAEDA_CHECK(results.size() >= count, "scan: a step gives fewer values than it carries");
    stacks.add(Span<Value>(results).drop_front(count));
    carried = part(results, 0, count);
  }
  return joined(std::move(carried), stacks.finish());
}

Values run_map(const Stack& a) {
  const Values xs = items(a[1]), others = items(a[2]);
  Stacks stacks;
  for (int64_t i = 0, n = length_of(xs, "map").expect_int(); i < n; ++i)
    stacks.add(region(a[0])(joined(slices(xs, i), others)));
  return stacks.finish();
}

Values run_associative_scan(const Stack& a) {
  return combine_in_parts(region(a[0]), items(a[1]), items(a[2]));
}

}  // namespace

const ControlFlow kCond{
    "higher_order::cond(Any pred, Any true_fn, Any false_fn, Any[] operands) -> Any[]",
    "(",
    run_cond,
    cond_shapes,
    cond_examples,
    record_cond,
    batch_cond};
const ControlFlow kWhileLoop{
    "higher_order::while_loop(Any cond_fn, Any body_fn, Any[] carried_inputs, Any[] "
    "additional_inputs) -> Any[]",
    "((",
    run_while,
    while_shapes,
    while_examples,
    record_while,
    batch_while};
const ControlFlow kWhileLoopStackOutput{
    "higher_order::while_loop_stack_output(Any cond_fn, Any body_fn, Any[] carried_inputs, Any[] "
    "additional_inputs) -> Any[]",
    "((",
    run_while_stacked,
    while_stacked_shapes,
    while_examples,
    record_while_stacked,
    batch_while_stacked};
const ControlFlow kKeptLoop{
    "higher_order::_while_loop_kept(Any cond_fn, Any body_fn, Any[] carried_inputs, Any[] "
    "additional_inputs) -> Any[]",
    "((",
    keep_steps,
    keep_steps,
    while_examples,
    record_kept,
    batch_kept};
const ControlFlow kScan{
    "higher_order::scan(Any combine_fn, Any[] init, Any[] xs, Any[] additional_inputs) -> Any[]",
    "[[(",
    run_scan,
    scan_shapes,
    scan_examples,
    record_scan,
    batch_scan};
const ControlFlow kMap{"higher_order::map_impl(Any f, Any[] xs, Any[] pos_args) -> Any[]",
                       "[[",
                       run_map,
                       map_shapes,
                       map_examples,
                       record_map,
                       batch_map};
const ControlFlow kAssociativeScan{
    "higher_order::associative_scan(Any combine_fn, Any[] xs, Any[] additional_inputs) -> Any[]",
    "[(",
    run_associative_scan,
    associative_scan_shapes,
    associative_scan_examples,
    record_associative_scan,
    batch_associative_scan};

}  // namespace taeda::fx
