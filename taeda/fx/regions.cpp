// Control flow in closed graphs: calls whose arguments are graphs, run as often as values say.
//
// Operands come as the tracer writes them (python/taeda/fx/control_flow): tuples and lists of
// tensors. Every region takes its operands one by one and returns a tuple.
#include "taeda/fx/regions.h"

#include "taeda/autograd/autocast.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using Values = std::vector<Value>;

const Plan& region(const Value& v) {
  const auto* object = v.is<IntrusivePtr<Opaque>>()
                           ? dynamic_cast<const RegionValue*>(v.get<IntrusivePtr<Opaque>>().get())
                           : nullptr;
  TAEDA_CHECK_TYPE(object, "expected a region, got ", v.kind_name());
  return object->plan;
}

Values items(const Value& v) {
  if (v.is_none()) return {};
  if (v.is<std::shared_ptr<Value::List>>()) return *v.get<std::shared_ptr<Value::List>>();
  if (v.is<std::vector<Tensor>>()) {
    const auto& tensors = v.get<std::vector<Tensor>>();
    return Values(tensors.begin(), tensors.end());
  }
  return {v};
}

Value list(Values values) { return std::make_shared<Value::List>(std::move(values)); }

Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool truth(const Value& v) { return v.to_scalar().to_bool(); }

Values call(const Plan& plan, Values operands) { return items(plan.run(std::move(operands))); }

int64_t length_of(const Values& xs, const char* op) {
  TAEDA_CHECK(!xs.empty(), op, ": there is nothing to go over");
  return xs[0].get<Tensor>().size(0);
}

Values slices(const Values& xs, int64_t i) {
  Values out;
  for (const Value& x : xs) out.push_back(x.get<Tensor>().select(0, SymInt(i)));
  return out;
}

// One stack for each of the results, whose parts come step by step.
class Stacks {
 public:
  void add(Span<Value> results) {
    parts_.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) parts_[i].push_back(results[i].get<Tensor>());
  }
  Values finish() const {
    Values out;
    for (const auto& p : parts_) out.push_back(taeda::stack(p));
    return out;
  }

 private:
  std::vector<std::vector<Tensor>> parts_;
};

// cond(pred, true region, false region, operands)
Value cond(Span<Value> a) { return list(call(region(truth(a[0]) ? a[1] : a[2]), items(a[3]))); }

// while_loop(condition region, body region, carried, others)
Value while_loop(Span<Value> a) {
  const Values others = items(a[3]);
  Values carried = items(a[2]);
  while (truth(call(region(a[0]), joined(carried, others)).at(0)))
    carried = call(region(a[1]), joined(carried, others));
  return list(std::move(carried));
}

// while_loop_stack_output(condition region, body region, carried, others): the results of each
// step, stacked; without a step, the carried values
Value while_loop_stack_output(Span<Value> a) {
  const Values others = items(a[3]);
  Values carried = items(a[2]);
  Stacks stacks;
  const auto goes_on = [&] { return truth(call(region(a[0]), joined(carried, others)).at(0)); };
  if (!goes_on()) {
    stacks.add(carried);
    return list(stacks.finish());
  }
  do {
    carried = call(region(a[1]), joined(carried, others));
    stacks.add(carried);
  } while (goes_on());
  return list(stacks.finish());
}

// scan(region, carried, xs, others): the last carries, then the results of each step, stacked
Value scan(Span<Value> a) {
  const Values xs = items(a[2]), others = items(a[3]);
  Values carried = items(a[1]);
  const size_t count = carried.size();
  Stacks stacks;
  for (int64_t i = 0, n = length_of(xs, "scan"); i < n; ++i) {
    Values results = call(region(a[0]), joined(joined(std::move(carried), slices(xs, i)), others));
    TAEDA_CHECK(results.size() >= count, "scan: a step gives fewer values than it carries");
    stacks.add(Span<Value>(results).drop_front(count));
    carried.assign(results.begin(), results.begin() + static_cast<int64_t>(count));
  }
  return list(joined(std::move(carried), stacks.finish()));
}

// map_impl(region, xs, others)
Value map_impl(Span<Value> a) {
  const Values xs = items(a[1]), others = items(a[2]);
  Stacks stacks;
  for (int64_t i = 0, n = length_of(xs, "map"); i < n; ++i)
    stacks.add(call(region(a[0]), joined(slices(xs, i), others)));
  return list(stacks.finish());
}

// associative_scan(region, xs, others): combined from the left
Value associative_scan(Span<Value> a) {
  const Values xs = items(a[1]), others = items(a[2]);
  const int64_t n = length_of(xs, "associative_scan");
  Stacks stacks;
  Values last;
  for (int64_t i = 0; i < n; ++i) {
    Values next = slices(xs, i);
    last = i == 0 ? std::move(next) : call(region(a[0]), joined(joined(last, next), others));
    stacks.add(last);
  }
  return list(stacks.finish());
}

Values rest(Span<Value> a, size_t from) {
  TAEDA_CHECK(a.size() >= from, "a region is called with ", a.size(), " arguments");
  const Span<Value> operands = a.drop_front(from);
  return Values(operands.begin(), operands.end());
}

// wrap_with_set_grad_enabled(enabled, region, *operands)
Value with_grad_mode(Span<Value> a) {
  Values operands = rest(a, 2);
  const autograd::GradMode mode(truth(a[0]));
  return list(call(region(a[1]), std::move(operands)));
}

// wrap_with_autocast(device type, dtype or None, enabled, cache enabled or None, region, *operands)
Value with_autocast(Span<Value> a) {
  Values operands = rest(a, 5);
  const DeviceType device = Device::parse(a[0].get<std::string>()).type;
  const DType dtype = a[1].is_none() ? autocast::dtype_of(device) : a[1].get<DType>();
  const bool caches = a[3].is_none() ? autocast::is_cache_enabled() : truth(a[3]);
  const autocast::Region scope(device, dtype, truth(a[2]), caches);
  return list(call(region(a[4]), std::move(operands)));
}

constexpr Builtin kRegionCalls[] = {
    {"cond", cond},
    {"while_loop", while_loop},
    {"while_loop_stack_output", while_loop_stack_output},
    {"scan", scan},
    {"map_impl", map_impl},
    {"associative_scan", associative_scan},
    {"wrap_with_set_grad_enabled", with_grad_mode, true},
    {"wrap_with_autocast", with_autocast, true},
};

}  // namespace

Span<Builtin> region_builtins() { return kRegionCalls; }

}  // namespace taeda::fx
