// Guards of a trace, evaluated on the sizes of inputs.
#include "taeda/aot/size_checks.h"

#include <algorithm>
#include <unordered_set>

#include "taeda/base/str.h"

namespace taeda::aot {

using dispatch::Value;

namespace {

bool is_sized(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

IntrusivePtr<fx::ShapeEnv> env_of(const std::vector<Value>& inputs) {
  for (const Value& v : inputs)
    if (is_sized(v))
      if (const auto mode = fx::fake_mode_of(v.get<Tensor>()); mode && mode->options().shape_env)
        return mode->options().shape_env;
  return nullptr;
}

}  // namespace

SizeChecks::SizeChecks(const std::vector<Value>& inputs) : env_(env_of(inputs)) {
  if (!env_) return;
  std::vector<fx::GuardInput> numbers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool has_sizes = is_sized(inputs[i]);
    ranks_.push_back(has_sizes ? inputs[i].get<Tensor>().dim() : -1);
    if (has_sizes) {
      const SymIntList sizes = inputs[i].get<Tensor>().sym_sizes();
      for (size_t d = 0; d < sizes.size(); ++d) {
        numbers.push_back({str("input ", i, ".size(", d, ")"), env_->expr(sizes[d])});
        places_.push_back({i, static_cast<int64_t>(d)});
      }
    } else if (inputs[i].is<SymInt>()) {
      numbers.push_back({str("input ", i), env_->expr(inputs[i].get<SymInt>())});
      places_.push_back({i, -1});
    }
  }
  take_guards(std::move(numbers));
  if (guards_.equalities.empty() && guards_.conditions.empty()) env_ = nullptr;
}

// Guards that need more than the inputs tell are left out: they speak of numbers that only data
// tells, or of another program of the same shape environment.
void SizeChecks::take_guards(std::vector<fx::GuardInput> numbers) {
  std::unordered_set<const fx::Expr*> bound, seen;
  const auto is_known = [&](const fx::Expr* e) {
    return std::ranges::all_of(symbolic::symbols_of(e),
                               [&](const fx::Expr* symbol) { return bound.count(symbol) != 0; });
  };
  for (size_t i = 0; i < numbers.size(); ++i) {
    const fx::Expr *e = numbers[i].expr, *now = env_->facts().replace_symbols(e);
    if (e->is_symbol() && now == e && bound.insert(e).second)
      guards_.bindings.push_back({e, i});
    else if (!e->is_constant() && now->has_hint)
      guards_.equalities.push_back({i, now});
  }
  std::erase_if(guards_.equalities,
                [&](const fx::GuardSet::Equality& q) { return !is_known(q.expected); });
  for (const fx::Guard& guard : env_->guards()) {
    const fx::Expr* e = env_->facts().replace_symbols(guard.condition);
    if (!e->is_constant() && is_known(e) && seen.insert(e).second) guards_.conditions.push_back(e);
  }
  guards_.inputs = std::move(numbers);
}

std::optional<size_t> SizeChecks::failure(const std::vector<Value>& inputs) const {
  if (!env_ || inputs.size() < ranks_.size()) return std::nullopt;
  // Inputs of another kind are refused by what runs, and those of another trace have no sizes.
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (is_sized(inputs[i]) != (ranks_[i] >= 0)) return std::nullopt;
    if (ranks_[i] < 0) continue;
    const Tensor& t = inputs[i].get<Tensor>();
    if (t.dim() != ranks_[i] || t.impl()->has_symbolic_sizes()) return std::nullopt;
  }
  std::vector<int64_t> numbers;
  for (const Place& place : places_) {
    const Value& v = inputs[place.input];
    if (place.dim < 0 && !v.is<int64_t>()) return std::nullopt;
    numbers.push_back(place.dim < 0 ? v.get<int64_t>() : v.get<Tensor>().sizes()[place.dim]);
  }
  return guards_.first_failure(numbers);
}

void SizeChecks::operator()(const std::vector<Value>& inputs) const {
  if (const std::optional<size_t> failed = failure(inputs))
    fail(ErrorKind::Runtime, "the program was traced for inputs with ", guards_.texts().at(*failed),
         ", which these do not have; trace it again for them");
}

}  // namespace taeda::aot
