// Turns the assumptions of a shape environment into checks of other inputs.
#include <algorithm>
#include <bit>

#include "taeda/fx/shapes/shape_env.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::fx {
namespace {

bool is_range_of_symbol(ExprPool& pool, const Expr* condition) {
  if (!condition->is_relation() || condition->op == ExprOp::Ne ||
      condition->args[0]->kind != SymKind::Int)
    return false;
  const Affine f =
      affine_of(pool, sign_of_difference(pool, condition->args[0], condition->args[1]));
  return f.form && f.form->is_symbol();
}

bool mentions(const Expr* e, const Expr* symbol) {
  const auto all = symbols_of(e);
  return std::find(all.begin(), all.end(), symbol) != all.end();
}

std::string range_text(const IntRange& r, const std::string& name) {
  const std::string low = r.lo == IntRange::kMin ? "" : str(r.lo, " <= ");
  const std::string high = r.hi == IntRange::kMax ? "" : str(" <= ", r.hi);
  return low + name + high;
}

// The same as a guard.
std::string range_guard(const IntRange& r, const std::string& name) {
  const bool has_both = r.lo != IntRange::kMin && r.hi != IntRange::kMax;
  return has_both ? str(r.lo, " <= ", name, " and ", name, " <= ", r.hi) : range_text(r, name);
}

// Whether the expression has this value; not where it divides by zero, leaves int64 or has a
// negative exponent.
bool has_value(const Expr* e, const Assignment& assignment, int64_t value) {
  try {
    return evaluate(e, assignment)->integer == value;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::ZeroDivision && error.kind() != ErrorKind::Overflow &&
        error.kind() != ErrorKind::Value)
      throw;
    return false;
  }
}

bool is_float(const GuardInput& input) {
  return input.expr->is_symbol() && input.expr->kind == SymKind::Float;
}

// Floats among the values of inputs are passed as their bits.
bool has_float(const Expr* e, const Assignment& assignment, int64_t bits) {
  const std::optional<ExprValue> value = evaluate(e, assignment);
  return value && std::bit_cast<int64_t>(value->as_double()) == bits;
}

}  // namespace

std::vector<GuardInput> inputs_of(ShapeEnv& env, const std::string& source, const Tensor& t) {
  std::vector<GuardInput> inputs;
  for (int64_t i = 0; i < t.dim(); ++i)
    inputs.push_back({str(source, ".size()[", i, "]"), env.expr(t.sym_sizes()[i])});
  for (int64_t i = 0; i < t.dim(); ++i)
    inputs.push_back({str(source, ".stride()[", i, "]"), env.expr(t.sym_strides()[i])});
  inputs.push_back({source + ".storage_offset()", env.expr(t.impl()->sym_storage_offset())});
  return inputs;
}

GuardSet ShapeEnv::guard_set(std::vector<GuardInput> inputs) {
  check_constraints();
  GuardSet set;
  std::unordered_set<const Expr*> bound;
  const auto is_bound = [&](const Expr* e) {
    const auto symbols = symbols_of(e);
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](const Expr* s) { return bound.count(s) != 0; });
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Expr* e = inputs[i].expr;
    // What a program asserts of a size without a value is checked when it runs; an input may have
    // each that was allowed when the symbol was made.
    const Expr* now = e->has_hint ? facts_.replace_symbols(e) : e;
    if (e->is_symbol() && now == e && bound.insert(e).second) {
      set.bindings.push_back({e, i});
      const IntRange r = e->has_hint ? facts_.range(e) : e->range;
      if (r != IntRange()) set.ranges.push_back({i, r});
      continue;
    }
    if (!now->has_hint && !is_bound(now)) continue;
    set.equalities.push_back({i, now});
    // A symbol that became an expression still has the range it was made with.
    if (e->is_symbol() && !now->range.is_inside(e->range)) set.ranges.push_back({i, e->range});
  }
  const auto check_bound = [&](const Expr* e) {
    for (const Expr* s : symbols_of(e))
      TAEDA_CHECK(bound.count(s), "the guard on ", text_of(e), " needs ", s->name,
                  ", which none of the inputs gives");
  };
  for (const GuardSet::Equality& q : set.equalities) check_bound(q.expected);
  std::unordered_set<const Expr*> seen;
  for (const Guard& g : guards_) {
    const Expr* e = facts_.replace_symbols(g.condition);
    if (e->is_constant() || is_range_of_symbol(pool_, e) || !seen.insert(e).second) continue;
    check_bound(e);
    set.conditions.push_back(e);
  }
  set.inputs = std::move(inputs);
  return set;
}

std::vector<std::string> ShapeEnv::produce_guards(std::vector<GuardInput> inputs) {
  return guard_set(std::move(inputs)).texts();
}

Assignment GuardSet::bind(const std::vector<int64_t>& values) const {
  Assignment result;
  for (const Binding& b : bindings) {
    const int64_t value = values.at(b.input);
    result[b.symbol] = is_float(inputs[b.input]) ? ExprValue::of(std::bit_cast<double>(value))
                                                 : ExprValue::of(value);
  }
  return result;
}

// The order of the checks here is the order of their texts.
std::optional<size_t> GuardSet::first_failure(const std::vector<int64_t>& values) const {
  const Assignment assignment = bind(values);
  size_t at = 0;
  for (const Equality& q : equalities) {
    const int64_t value = values.at(q.input);
    const bool holds = is_float(inputs[q.input]) ? has_float(q.expected, assignment, value)
                                                 : has_value(q.expected, assignment, value);
    if (!holds) return at;
    ++at;
  }
  for (const Expr* c : conditions) {
    if (!has_value(c, assignment, 1)) return at;
    ++at;
  }
  for (const Range& r : ranges) {
    if (!r.range.has(values.at(r.input))) return at;
    ++at;
  }
  return std::nullopt;
}

std::vector<std::string> GuardSet::texts() const {
  std::unordered_map<const Expr*, std::string> names;
  for (const Binding& b : bindings) names[b.symbol] = inputs[b.input].source;
  std::vector<std::string> out;
  for (const Equality& q : equalities)
    out.push_back(inputs[q.input].source + " == " + python_text_of(q.expected, names));
  for (const Expr* c : conditions) out.push_back(python_text_of(c, names));
  for (const Range& r : ranges) out.push_back(range_guard(r.range, inputs[r.input].source));
  return out;
}

std::vector<std::string> GuardSet::short_texts() const {
  const std::vector<std::string> all = texts();
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(equalities.size());
  std::vector<std::string> out(first, first + static_cast<std::ptrdiff_t>(conditions.size()));
  for (const Range& r : ranges) {
    const IntRange made = inputs[r.input].expr->range;
    IntRange rest = r.range;
    if (rest.lo == made.lo) rest.lo = IntRange::kMin;
    if (rest.hi == made.hi) rest.hi = IntRange::kMax;
    if (rest != IntRange()) out.push_back(range_guard(rest, inputs[r.input].source));
  }
  return out;
}

std::string ShapeEnv::format_guards(bool is_verbose) {
  std::string out;
  for (const Guard& g : guards_)
    out += str(" - ", text_of(g.condition), is_verbose && !g.where.empty() ? "  # " + g.where : "",
               "\n");
  return out;
}

namespace {

// Sources of named dimensions are written "batch = x.size()[0]".
std::string name_in(const std::string& source) { return source.substr(0, source.find(" = ")); }
std::string place_in(const std::string& source) {
  const size_t at = source.find(" = ");
  return at == std::string::npos ? source : source.substr(at + 3);
}

std::string at_line(const std::string& where) { return where.empty() ? "" : " (at " + where + ")"; }

}  // namespace

// The dimension that an expression depends on, if it is one.
const ShapeEnv::Constrained* ShapeEnv::only_root_of(const Expr* e) const {
  const std::vector<const Expr*> symbols = symbols_of(e);
  for (const Constrained& c : constrained_)
    if (symbols.size() == 1 && c.expr == symbols[0]) return &c;
  return nullptr;
}

bool ShapeEnv::is_required(const Expr* e) const {
  return std::ranges::any_of(constrained_, [&](const Constrained& c) { return c.expr == e; });
}

// Why a requirement on a dimension is not kept; empty when it is.
std::string ShapeEnv::why_not(const Constrained& c) {
  const Expr* now = facts_.replace_symbols(c.expr);
  const bool is_strict = c.constraint.kind == DimConstraint::Kind::Strict;
  std::unordered_map<const Expr*, std::string> names;
  for (const Constrained& other : constrained_) names[other.expr] = place_in(other.source);
  const auto made_by = [&]() -> std::string {
    for (const Guard& g : guards_)
      if (mentions(g.condition, c.expr)) return at_line(g.where);
    return "";
  };
  if (now->is_constant())
    return str("You marked ", name_in(c.source),
               " as dynamic but your code specialized it to be a constant (", now->value.integer,
               "). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If "
               "you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.",
               made_by());
  if (!is_strict) return "";
  if (now != c.expr) {
    for (const Constrained& other : constrained_)
      if (other.expr == now)
        return str("The values of ", c.source, " and ", other.source, " must always be equal.",
                   made_by());
    // A dimension that nothing is required of may be any that others are.
    if (now->is_symbol() && c.expr->is_symbol() &&
        facts_.range(now).is_inside(intersection(c.constraint.range, c.expr->range)) &&
        !is_required(now))
      return "";
    if (const Constrained* root = only_root_of(now))
      return str("The values of ", c.source, " must always be related to the values of ",
                 root->source, " by ", name_in(c.source), " = ",
                 python_text_of(now, {{root->expr, name_in(root->source)}}), ".", made_by());
    return str("The values of ", c.source, " must always be ", python_text_of(now, names), ".",
               made_by());
  }
  const IntRange allowed = facts_.range(now);
  const IntRange wanted = intersection(c.constraint.range, c.expr->range);
  for (const Guard& g : guards_) {
    const Expr* e = facts_.replace_symbols(g.condition);
    if (e->is_constant() || !mentions(e, now)) continue;
    if (is_range_of_symbol(pool_, e) && wanted.is_inside(allowed)) continue;
    return str("Not all values of ", c.source, " in the specified range ",
               range_text(c.constraint.range, name_in(c.source)), " satisfy the generated guard ",
               python_text_of(e, names), ".", at_line(g.where));
  }
  return "";
}

void ShapeEnv::check_constraints() {
  std::string names, reasons;
  for (const Constrained& c : constrained_) {
    const std::string reason = why_not(c);
    if (reason.empty()) continue;
    names += (names.empty() ? "" : ", ") + name_in(c.source);
    reasons += "\n  - " + reason;
  }
  if (!names.empty())
    throw ConstraintViolation(str("Constraints violated (", names, ")!", reasons));
}

}  // namespace taeda::fx
