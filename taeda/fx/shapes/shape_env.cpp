// Symbols of a shape environment and the answers to questions about them.
#include "taeda/fx/shapes/shape_env.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::fx {
namespace {

std::atomic<std::string (*)()> location_hook{nullptr};

std::string location() {
  auto* hook = location_hook.load(std::memory_order_relaxed);
  return hook ? hook() : std::string();
}

void check_hint(int64_t hint, const DimConstraint& constraint, const std::string& source) {
  const IntRange r = constraint.range;
  if (!r.has(hint))
    throw ConstraintViolation(str(hint, " not in range [", r.lo, ", ", r.hi,
                                  "]: the constraint on ", source,
                                  " cannot be satisfied by this input"));
}

}  // namespace

DataDependentError::~DataDependentError() = default;
ConstraintViolation::~ConstraintViolation() = default;

void ShapeEnv::set_location_hook(std::string (*hook)()) { location_hook = hook; }

const Expr* ShapeEnv::create_symbol(int64_t hint, const std::string& source, DimDynamic dynamic,
                                    DimConstraint constraint, IntRange range) {
  if (dynamic == DimDynamic::Unbacked) {
    if (constraint.kind == DimConstraint::Kind::Strict) {
      check_hint(hint, constraint, source);
      range = intersection(range, constraint.range);
    }
    const Expr* u = create_unbacked(SymKind::Int, range);
    sources_[u].push_back(source);
    if (range.lo >= 0) facts_.add_size_like(u);
    return u;
  }
  // Sizes 0 and 1 decide much; a number that may be negative is no size.
  const bool is_size = range.lo >= 0;
  const bool is_special = settings_.specialize_zero_one && is_size && (hint == 0 || hint == 1);
  if (settings_.specialize_zero_one && is_size) range.lo = std::max<int64_t>(range.lo, 2);
  if (constraint.kind == DimConstraint::Kind::Strict) {
    check_hint(hint, constraint, source);
    range = intersection(range, constraint.range);
  }
  const auto constrained = [&](const Expr* e) {
    if (constraint.kind != DimConstraint::Kind::None)
      constrained_.push_back({source, e, constraint});
    return e;
  };
  if (dynamic == DimDynamic::Static || is_special) return constrained(pool_.integer(hint));
  const bool is_duck = dynamic == DimDynamic::Duck && settings_.duck_shape;
  if (is_duck) {
    if (auto it = by_hint_.find(hint); it != by_hint_.end()) {
      sources_[it->second].push_back(source);
      return constrained(it->second);
    }
  }
  const Expr* s = pool_.symbol(str("s", num_backed_++), SymKind::Int, range, ExprValue::of(hint));
  symbols_[s->name] = s;
  sources_[s].push_back(source);
  if (is_duck) by_hint_[hint] = s;
  return constrained(s);
}

const Expr* ShapeEnv::create_float_symbol(double hint, const std::string& source) {
  const Expr* s = pool_.symbol(str("zf", num_floats_++), SymKind::Float, {}, ExprValue::of(hint));
  symbols_[s->name] = s;
  sources_[s].push_back(source);
  return s;
}

const Expr* ShapeEnv::create_unbacked(SymKind kind, IntRange range) {
  const bool is_float = kind == SymKind::Float;
  const std::string name = is_float ? str("zuf", num_floats_++) : str("u", num_unbacked_++);
  if (kind == SymKind::Bool) range = {0, 1};
  const Expr* u = pool_.symbol(name, is_float ? SymKind::Float : SymKind::Int, range, std::nullopt);
  symbols_[name] = u;
  return kind == SymKind::Bool ? pool_.make(ExprOp::Eq, u, pool_.integer(1)) : u;
}

void ShapeEnv::observe(const Expr* unbacked, ExprValue value) {
  // A truth value is an integer that equals one.
  const Expr* symbol = unbacked->is_symbol() ? unbacked : symbols_of(unbacked).front();
  observed_[symbol] = value;
}

std::optional<ExprValue> ShapeEnv::value_in_run(const Expr* e) const {
  if (e->has_hint) return e->value;
  if (observed_.empty()) return std::nullopt;
  Assignment values = observed_;
  for (const Expr* s : symbols_of(e))
    if (s->has_hint) values.emplace(s, s->value);
  return symbolic::evaluate(e, values);
}

void ShapeEnv::set_likely_value(const Expr* unbacked, int64_t value) {
  TAEDA_CHECK_VALUE(unbacked->is_symbol(),
                    "override_optimization_hint expects a single unbacked symbol, got derived "
                    "expression: ",
                    text_of(unbacked));
  TAEDA_CHECK_VALUE(!unbacked->has_hint,
                    "override_optimization_hint expects an unbacked symbol, but ", unbacked->name,
                    " is backed");
  likely_[unbacked] = ExprValue::of(value);
}

std::optional<ExprValue> ShapeEnv::likely_value(const Expr* e, int64_t fallback) {
  e = facts_.simplify(e);
  Assignment values = observed_;
  values.insert(likely_.begin(), likely_.end());
  for (const Expr* s : symbols_of(e)) {
    if (s->has_hint) {
      values.emplace(s, s->value);
    } else if (s->kind == SymKind::Int) {
      const IntRange r = facts_.range(s);
      values.emplace(s, ExprValue::of(std::clamp(fallback, r.lo, r.hi)));
    } else {
      values.emplace(s, ExprValue::of(static_cast<double>(fallback)));
    }
  }
  return symbolic::evaluate(e, values);
}

SymKind ShapeEnv::kind_of_name(std::string_view name) {
  return name.starts_with("zf") || name.starts_with("zuf") ? SymKind::Float : SymKind::Int;
}

const Expr* ShapeEnv::unbacked_of(const std::string& function, SymIntList of) {
  std::vector<const Expr*> key;
  for (const SymInt& v : of) key.push_back(simplify(expr(v)));
  const Expr*& known = functions_[{function, std::move(key)}];
  if (!known) known = create_unbacked();
  return known;
}

bool ShapeEnv::has_function_of(const Expr* e) const {
  for (const Expr* symbol : symbols_of(e))
    for (const auto& [function, number] : functions_)
      if (number == symbol) return true;
  return false;
}

const Expr* ShapeEnv::create_size(int64_t hint, const std::string& source, DimDynamic dynamic,
                                  DimConstraint constraint) {
  if (!settings_.is_backed_oblivious) return create_symbol(hint, source, dynamic, constraint);
  const bool specializes = std::exchange(settings_.specialize_zero_one, false);
  const Expr* size = create_symbol(hint, source, dynamic, constraint);
  settings_.specialize_zero_one = specializes;
  if (size->is_symbol()) facts_.add_size_like(size);
  return size;
}

ShapeEnv::Geometry ShapeEnv::create_geometry(IntList sizes, IntList strides, int64_t offset,
                                             const std::string& source, Span<DimDynamic> dynamic,
                                             Span<DimConstraint> constraints, bool strides_change) {
  const size_t ndim = sizes.size();
  std::vector<const Expr*> size(ndim), stride(ndim, nullptr);
  bool is_static = !strides_change, is_duck = false;
  for (size_t i = 0; i < ndim; ++i) {
    const DimDynamic how = dynamic.empty() ? DimDynamic::Duck : dynamic[i];
    is_static &= how == DimDynamic::Static;
    is_duck |= how == DimDynamic::Duck;
    size[i] = create_size(sizes[i], str(source, ".size()[", i, "]"), how,
                          constraints.empty() ? DimConstraint{} : constraints[i]);
  }
  // Small strides first: a larger one is mostly the size times the stride of a smaller one.
  std::vector<size_t> order(ndim);
  for (size_t i = 0; i < ndim; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(strides[a], b) < std::pair(strides[b], a);
  });
  std::map<int64_t, const Expr*> products{{0, pool_.integer(0)}, {1, pool_.integer(1)}};
  const DimDynamic how = is_static ? DimDynamic::Static
                         : is_duck ? DimDynamic::Duck
                                   : DimDynamic::Dynamic;
  for (size_t i : order) {
    auto it = products.find(strides[i]);
    stride[i] = it != products.end()
                    ? it->second
                    : create_symbol(strides[i], str(source, ".stride()[", i, "]"), how);
    const Expr* product = pool_.mul(stride[i], size[i]);
    // Of a size without a value nothing says that it is 1.
    if (sizes[i] == 1 && !size[i]->has_hint) products.erase(strides[i]);
    products.emplace(strides[i] * sizes[i], product);
  }
  Geometry g;
  for (size_t i = 0; i < ndim; ++i) {
    g.sizes.push_back(symint(size[i]));
    g.strides.push_back(symint(stride[i]));
  }
  g.offset = symint(create_symbol(offset, source + ".storage_offset()", how));
  return g;
}

SymInt ShapeEnv::symint(const Expr* e) {
  if (e->is_constant()) return SymInt(e->value.integer);
  return SymInt(
      IntrusivePtr<SymNode>(make_intrusive<SymExprNode>(IntrusivePtr<ShapeEnv>::share(this), e)));
}

const Expr* ShapeEnv::expr(const SymInt& v) {
  return v.is_symbolic() ? SymExprNode::of(v.node(), *this).raw_expr() : pool_.integer(v.word());
}

const std::vector<std::string>& ShapeEnv::sources(const Expr* symbol) const {
  static const std::vector<std::string> none;
  const auto it = sources_.find(symbol);
  return it == sources_.end() ? none : it->second;
}

bool ShapeEnv::evaluate(const Expr* condition, bool is_size_oblivious) {
  if (condition->is_constant()) return condition->value.integer != 0;
  if (const auto known = facts_.decide(condition)) return *known;
  const Expr* e = facts_.simplify(condition);
  if (!e->has_hint) {
    const auto assumed = is_size_oblivious ? facts_.decide(e, true) : std::nullopt;
    if (assumed) return *assumed;
    const auto seen = value_in_run(e);
    if (!seen) fail_data_dependent(e, true);
    expect_true(seen->integer ? e : pool_.logical_not(e));
    return seen->integer != 0;
  }
  const bool answer = e->value.integer != 0;
  record(answer ? e : pool_.logical_not(e));
  return answer;
}

ExprValue ShapeEnv::specialize(const Expr* e) {
  e = facts_.simplify(e);
  if (e->is_constant()) return e->value;
  if (e->kind == SymKind::Bool) return ExprValue::of(evaluate(e));
  if (e->kind == SymKind::Int) {
    if (const IntRange r = facts_.range(e); r.is_single()) return ExprValue::of(r.lo);
  }
  if (!e->has_hint) {
    const auto seen = value_in_run(e);
    if (!seen) fail_data_dependent(e, false);
    expect_true(pool_.make(ExprOp::Eq, e, pool_.constant(*seen)));
    return *seen;
  }
  // Zeros of both signs are equal, and other numbers.
  if (e->kind == SymKind::Float && e->value.number == 0) {
    const Expr* sign = pool_.make(ExprOp::Copysign, pool_.constant(ExprValue::of(1.0)), e);
    record(pool_.make(ExprOp::Eq, sign, pool_.constant(sign->value)));
  }
  // A NaN equals nothing.
  const bool is_nan = e->kind == SymKind::Float && std::isnan(e->value.number);
  record(is_nan ? pool_.make(ExprOp::Ne, e, e)
                : pool_.make(ExprOp::Eq, e, pool_.constant(e->value)));
  return e->value;
}

void ShapeEnv::record(const Expr* condition) {
  if (!is_recording()) return;
  guards_.push_back({condition, location()});
  facts_.learn(condition);
}

bool ShapeEnv::expect_true(const Expr* condition, const std::string& message) {
  if (const auto known = facts_.decide(condition)) return *known;
  const Expr* e = facts_.simplify(condition);
  if (e->has_hint) {
    if (e->value.integer) record(e);
    return e->value.integer != 0;
  }
  runtime_asserts_.push_back({e, message, location(), num_given_ > 0});
  facts_.learn(e);
  return true;
}

void ShapeEnv::constrain_range(const Expr* e, IntRange range) {
  TAEDA_CHECK_VALUE(!range.is_empty(),
                    "Maximum value to constrain_as_size can't be less than the specified min "
                    "value: got min=",
                    range.lo, " and max=", range.hi);
  const Expr* now = facts_.simplify(e);
  const auto must = [&](ExprOp op, int64_t bound) {
    TAEDA_CHECK(expect_true(pool_.make(op, now, pool_.integer(bound))), "Invalid value range for ",
                text_of(now), " between [", range.lo, ", ", range.hi, "].");
  };
  if (range.lo != IntRange::kMin) must(ExprOp::Ge, range.lo);
  if (range.hi != IntRange::kMax) must(ExprOp::Le, range.hi);
}

void ShapeEnv::check_is_size(const Expr* e) {
  constrain_range(e, {0, IntRange::kMax});
  if (const Expr* now = facts_.simplify(e); now->is_symbol() && !now->has_hint)
    facts_.add_size_like(now);
}

void ShapeEnv::fail_data_dependent(const Expr* e, bool is_condition) {
  std::string names;
  std::string size_like;
  for (const Expr* s : symbols_of(e)) {
    if (s->has_hint) continue;
    names += (names.empty() ? "" : ", ") + s->name;
    if (facts_.is_size_like(s)) size_like += (size_like.empty() ? "" : ", ") + s->name;
  }
  const std::string text = text_of(e), where = location();
  std::string message =
      str(is_condition || e->kind != SymKind::Int
              ? "Could not guard on data-dependent expression "
              : "Could not extract specialized integer from data-dependent expression ",
          text, " (unhinted: ", text,
          ").  (Size-like symbols: ", size_like.empty() ? "none" : size_like, ")\n\n", names,
          " comes from data and has no value while the program is traced. ");
  message += is_condition
                 ? str("Say what holds with torch._check(", text,
                       ") (or its opposite), bound it with torch._check_is_size or "
                       "torch._check(x <= limit), or choose a branch with guard_or_false.")
                 : str("Keep it symbolic, or fix it with torch._check(", text, " == value).");
  if (!where.empty()) message += "\n\nCaused by: " + where;
  throw DataDependentError(std::move(message), text);
}

}  // namespace taeda::fx
