// Runs regions, and the scopes of grad mode and autocast around them.
#include "taeda/fx/regions.h"

#include <utility>

#include "taeda/autograd/autocast.h"
#include "taeda/autograd/grad_mode.h"

namespace taeda::fx {

RegionValue::RegionValue(IntrusivePtr<Graph> graph, Function function, IntrusivePtr<Opaque> host)
    : graph_(std::move(graph)), function_(std::move(function)), host_(std::move(host)) {
  if (graph_ && open_reason(*graph_).empty()) plan_.emplace(*graph_);
}

Values RegionValue::operator()(Values operands) const {
  return plan_ ? items(plan_->run(std::move(operands))) : function_(std::move(operands));
}

const RegionValue* find_region(const Value& v) {
  return v.is<IntrusivePtr<Opaque>>()
             ? dynamic_cast<const RegionValue*>(v.get<IntrusivePtr<Opaque>>().get())
             : nullptr;
}

const RegionValue& region(const Value& v) {
  const RegionValue* found = find_region(v);
  TAEDA_CHECK_TYPE(found, "expected a region, got ", v.kind_name());
  return *found;
}

Value region_value(IntrusivePtr<Graph> graph) {
  return Value(IntrusivePtr<Opaque>(make_intrusive<RegionValue>(std::move(graph))));
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

Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool truth(const Value& v) {
  return (v.is<Tensor>() ? v.get<Tensor>().item() : v.to_scalar()).to_bool();
}

namespace {

Values rest(Span<Value> a, size_t from) {
  TAEDA_CHECK(a.size() >= from, "a region is called with ", a.size(), " arguments");
  const Span<Value> operands = a.drop_front(from);
  return Values(operands.begin(), operands.end());
}

thread_local constinit const TakeGradScopes::Handler* grad_scope_handler = nullptr;

// wrap_with_set_grad_enabled(enabled, region, *operands)
Value with_grad_mode(Span<Value> a) {
  Values operands = rest(a, 2);
  if (grad_scope_handler)
    if (auto taken = (*grad_scope_handler)(truth(a[0]), region(a[1]), operands))
      return list(std::move(*taken));
  const autograd::GradMode mode(truth(a[0]));
  return list(region(a[1])(std::move(operands)));
}

// wrap_with_autocast(device type, dtype or None, enabled, cache enabled or None, region, *operands)
Value with_autocast(Span<Value> a) {
  Values operands = rest(a, 5);
  const DeviceType device = Device::parse(a[0].get<std::string>()).type;
  const DType dtype = a[1].is_none() ? autocast::dtype_of(device) : a[1].get<DType>();
  const bool caches = a[3].is_none() ? autocast::is_cache_enabled() : truth(a[3]);
  const autocast::Region scope(device, dtype, truth(a[2]), caches);
  return list(region(a[4])(std::move(operands)));
}

constexpr Builtin kScopes[] = {
    {"wrap_with_set_grad_enabled", with_grad_mode, true},
    {"wrap_with_autocast", with_autocast, true},
};

}  // namespace

Span<Builtin> scope_builtins() { return kScopes; }

TakeGradScopes::TakeGradScopes(const Handler* handler)
    : outer_(std::exchange(grad_scope_handler, handler)) {}
TakeGradScopes::~TakeGradScopes() { grad_scope_handler = outer_; }

}  // namespace taeda::fx
