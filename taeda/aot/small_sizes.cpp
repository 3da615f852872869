// Versions of a graph for inputs with sizes 0 and 1.
#include "taeda/aot/small_sizes.h"

#include <algorithm>

#include "taeda/aot/compiled_function.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"

namespace taeda::aot {

using dispatch::Value;
using fx::DimDynamic;

namespace {

bool is_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

}  // namespace

SmallSizes::SmallSizes(const std::vector<Value>& traced, Compile compile)
    : compile_(std::move(compile)) {
  for (const Value& v : traced)
    if (is_tensor(v) && !mode_) mode_ = fx::fake_mode_of(v.get<Tensor>());
  if (!mode_ || !mode_->options().shape_env) return;
  fx::ShapeEnv& env = *mode_->options().shape_env;
  const auto note = [&](size_t input, int64_t dim, const SymInt& number) {
    const fx::Expr* e = number.is_symbolic() ? env.expr(number) : nullptr;
    if (e && e->is_symbol()) places_.push_back({input, dim, e->range.lo});
  };
  for (size_t i = 0; i < traced.size(); ++i) {
    const bool has_sizes = is_tensor(traced[i]);
    needs_gradient_.push_back(has_sizes && autograd::requires_grad(traced[i].get<Tensor>()));
    if (traced[i].is<SymInt>()) note(i, -1, traced[i].get<SymInt>());
    if (!has_sizes) continue;
    const SymIntList sizes = traced[i].get<Tensor>().sym_sizes();
    for (size_t d = 0; d < sizes.size(); ++d) note(i, static_cast<int64_t>(d), sizes[d]);
  }
}

// By place, -1 where the symbol has that value; nothing for inputs of another kind.
std::vector<int64_t> SmallSizes::small_sizes(const std::vector<Value>& inputs) const {
  std::vector<int64_t> found;
  bool has_small = false;
  for (const Place& place : places_) {
    const Value& v = inputs[place.input];
    int64_t number = place.least;
    if (place.dim < 0) {
      if (!v.is<int64_t>()) return {};
      number = v.get<int64_t>();
    } else {
      if (!is_tensor(v)) return {};
      const Tensor& t = v.get<Tensor>();
      if (t.dim() <= place.dim || t.impl()->has_symbolic_sizes()) return {};
      number = t.sizes()[place.dim];
    }
    const bool is_small = number < place.least;
    found.push_back(is_small ? number : -1);
    has_small |= is_small;
  }
  return has_small ? found : std::vector<int64_t>();
}

std::vector<Value> SmallSizes::fakes(const std::vector<Value>& inputs) const {
  fx::FakeMode::Options options = mode_->options();
  const auto env = make_intrusive<fx::ShapeEnv>();
  options.shape_env = env;
  const auto mode = make_intrusive<fx::FakeMode>(std::move(options));
  std::vector<Value> made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string source = str("input ", i);
    const auto is_symbol = [&](int64_t dim) {
      return std::any_of(places_.begin(), places_.end(),
                         [&](const Place& place) { return place.input == i && place.dim == dim; });
    };
    if (!is_tensor(inputs[i])) {
      made.push_back(is_symbol(-1)
                         ? Value(env->symint(env->create_symbol(inputs[i].get<int64_t>(), source)))
                         : inputs[i]);
      continue;
    }
    const Tensor& t = inputs[i].get<Tensor>();
    std::vector<DimDynamic> dynamic;
    for (int64_t d = 0; d < t.dim(); ++d)
      dynamic.push_back(is_symbol(d) ? DimDynamic::Duck : DimDynamic::Static);
    const auto g =
        env->create_geometry(t.sizes(), t.strides(), t.storage_offset(), source, dynamic);
    const Tensor fake = mode->from_tensor(t, g.sizes, g.strides, g.offset).detach();
    autograd::set_requires_grad(fake, needs_gradient_[i]);
    made.emplace_back(fake);
  }
  return made;
}

std::shared_ptr<CompiledFunction> SmallSizes::of(const std::vector<Value>& inputs) {
  if (inputs.size() != needs_gradient_.size()) return nullptr;
  const std::vector<int64_t> sizes = small_sizes(inputs);
  if (sizes.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const Version& version : versions_)
    if (version.sizes == sizes && version.function->has_sizes_of_trace(inputs))
      return version.function;
  versions_.push_back({sizes, compile_(fakes(inputs))});
  return versions_.back().function;
}

}  // namespace taeda::aot
