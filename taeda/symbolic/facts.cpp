// Drawing conclusions from facts about symbols.
#include "taeda/symbolic/facts.h"

#include <algorithm>

#include "taeda/symbolic/expr_rules.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::symbolic {
namespace {

int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

// The values of x for which scale * x + offset stands in the relation to zero.
IntRange solutions(ExprOp op, int64_t scale, int64_t offset) {
  if (op == ExprOp::Gt || op == ExprOp::Ge)
    return solutions(mirrored_relation(op), -scale, -offset);
  if (op == ExprOp::Lt) return solutions(ExprOp::Le, scale, offset + 1);
  if (op == ExprOp::Eq) return IntRange::of(-offset / scale);
  if (scale > 0) return {IntRange::kMin, floor_divide(-offset, scale)};
  return {ceil_divide(-offset, scale), IntRange::kMax};
}

// A symbol that the equation p = 0 gives in terms of the others: the youngest, one without a hint
// first. Null where each is multiplied, or occurs twice.
const Term* solvable_term(const Polynomial& p) {
  const Term* best = nullptr;
  for (const Term& t : p) {
    if (t.factors.size() != 1 || t.factors[0].exponent != 1) continue;
    if (t.coefficient != 1 && t.coefficient != -1) continue;
    const Expr* symbol = t.factors[0].atom;
    if (!symbol->is_symbol()) continue;
    const auto count = std::count_if(p.begin(), p.end(), [&](const Term& o) {
      return std::any_of(o.factors.begin(), o.factors.end(), [&](const Factor& f) {
        const auto inside = symbols_of(f.atom);
        return std::find(inside.begin(), inside.end(), symbol) != inside.end();
      });
    });
    if (count != 1) continue;
    const auto rank = [](const Term& x) {
      return std::pair(!x.factors[0].atom->has_hint, x.factors[0].atom->id);
    };
    if (!best || rank(t) > rank(*best)) best = &t;
  }
  return best;
}

}  // namespace

const Expr* Facts::substitute_known(const Expr* e) {
  e = replace_symbols(e);
  return forms_.empty() ? e : substitute(pool_, e, forms_);
}

const Expr* Facts::simplify(const Expr* e) {
  if ((symbols_.empty() && forms_.empty()) || e->is_constant()) return e;
  if (auto it = simplified_.find(e); it != simplified_.end()) return it->second;
  const Expr* result = cancel_known_divisions(substitute_known(e));
  simplified_.emplace(e, result);
  return result;
}

// 2*(s0//2) is s0 where 2 is known to divide s0.
const Expr* Facts::cancel_known_divisions(const Expr* e) {
  if (e->op != ExprOp::Add && e->op != ExprOp::Mul) {
    if (e->args.empty() || e->op == ExprOp::Pow) return e;
    ExprArgs args;
    for (const Expr* a : e->args) args.push_back(cancel_known_divisions(a));
    return args == e->args ? e : pool_.make(e->op, args);
  }
  const Expr* result = pool_.integer(0);
  for (const Term& t : polynomial_of(e)) {
    const Expr* term = expr_of(pool_, {t});
    for (const Factor& f : t.factors) {
      if (f.atom->op != ExprOp::FloorDiv || f.exponent != 1) continue;
      const Expr *a = f.atom->args[0], *b = f.atom->args[1];
      if (!substitute_known(pool_.modulo(a, b))->is_constant(0)) continue;
      Term atom;
      atom.factors.push_back(f);
      const auto rest = exact_quotient({t}, {atom});
      if (const auto q = exact_quotient(*rest, polynomial_of(b))) {
        term = pool_.mul(expr_of(pool_, *q), a);
        break;
      }
    }
    result = pool_.add(result, term);
  }
  return result;
}

IntRange Facts::range_of(const Expr* e) {
  if (e->kind != SymKind::Int || e->is_constant()) return e->range;
  IntRange r = e->range;
  if (!e->args.empty()) {
    SmallVector<IntRange, 4> args;
    for (const Expr* a : e->args) args.push_back(range_of(a));
    r = intersection(r, range_of_op(e, args));
  }
  if (auto it = ranges_.find(e); it != ranges_.end()) r = intersection(r, it->second);
  return r;
}

// Equal and unequal have no direction and no scale; order is kept as ranges.
const Expr* Facts::canonical(const Expr* e) {
  if ((e->op != ExprOp::Eq && e->op != ExprOp::Ne) || e->args[0]->kind != SymKind::Int) return e;
  const Affine f = affine_of(pool_, sign_of_difference(pool_, e->args[0], e->args[1]));
  return pool_.intern(e->op, SymKind::Bool, {f.form, pool_.integer(-f.offset / f.scale)});
}

std::optional<bool> Facts::decide_relation(const Expr* e) {
  if (e->args[0]->kind != SymKind::Int) return std::nullopt;
  const Affine f = affine_of(pool_, sign_of_difference(pool_, e->args[0], e->args[1]));
  if (!f.form) return decided(e->op, IntRange::of(f.offset));
  return decided(e->op, range_of(f.form) * IntRange::of(f.scale) + IntRange::of(f.offset));
}

const Expr* Facts::with_large_sizes(const Expr* e) {
  Replacements large;
  for (const Expr* symbol : symbols_of(e)) {
    if (!is_size_like(symbol)) continue;
    IntRange r = range_of(symbol);
    if (r.hi < 2) continue;
    r.lo = std::max<int64_t>(r.lo, 2);
    large[symbol] = pool_.symbol(str(symbol->name, " in ", r), SymKind::Int, r, std::nullopt);
  }
  return large.empty() ? e : substitute(pool_, e, large);
}

// Symbols as ones that were made with the ranges found since: Max(1, u0) is u0 once u0 > 0.
template <class RangeOf>
static const Expr* with_ranges(ExprPool& pool, const Expr* e, RangeOf&& range_of) {
  Replacements narrowed;
  for (const Expr* symbol : symbols_of(e)) {
    if (symbol->kind != SymKind::Int) continue;
    const IntRange r = range_of(symbol);
    if (r != symbol->range)
      narrowed[symbol] = pool.symbol(str(symbol->name, " in ", r), SymKind::Int, r, std::nullopt);
  }
  return narrowed.empty() ? e : substitute(pool, e, narrowed);
}

std::optional<bool> Facts::decide(const Expr* condition, bool is_size_oblivious) {
  if (const auto answer = decide_known(condition)) return answer;
  const Expr* e = simplify(condition);
  const Expr* narrowed = with_ranges(pool_, e, [&](const Expr* s) { return range_of(s); });
  if (narrowed != e)
    if (const auto answer = decide_known(narrowed)) return answer;
  if (!is_size_oblivious || size_like_.empty()) return std::nullopt;
  const Expr* assumed = with_large_sizes(e);
  return assumed == e ? std::nullopt : decide_known(assumed);
}

std::optional<bool> Facts::decide_known(const Expr* condition) {
  const Expr* e = simplify(condition);
  if (e->is_constant()) return e->value.integer != 0;
  if (auto it = known_.find(canonical(e)); it != known_.end()) return it->second;
  if (e->is_relation()) return decide_relation(e);
  if (e->op == ExprOp::Not) {
    const auto inner = decide_known(e->args[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (e->op != ExprOp::And && e->op != ExprOp::Or) return std::nullopt;
  const auto a = decide_known(e->args[0]), b = decide_known(e->args[1]);
  const bool absorbing = e->op == ExprOp::Or;
  if ((a && *a == absorbing) || (b && *b == absorbing)) return absorbing;
  return a && b ? std::optional(!absorbing) : std::nullopt;
}

void Facts::learn(const Expr* condition) {
  const Expr* e = simplify(condition);
  if (e->op == ExprOp::And) {
    learn(e->args[0]);
    learn(e->args[1]);
    return;
  }
  const auto truth = decide(e);
  TAEDA_CHECK(!truth || *truth, "the condition ", text_of(condition),
              " cannot hold: it contradicts what was assumed of the shapes before");
  if (e->is_constant()) return;
  known_[canonical(e)] = true;
  known_[canonical(pool_.logical_not(e))] = false;
  if (e->is_relation() && e->args[0]->kind == SymKind::Int) learn_relation(e);
}

// From s1 - s0 < 0 and s0 <= 19 follows s1 <= 18: each symbol of a sum is the sum less the rest.
template <class RangeOf>
static std::vector<std::pair<const Expr*, IntRange>> ranges_of_parts(ExprPool& pool,
                                                                     const Expr* sum,
                                                                     RangeOf&& range_of) {
  std::vector<std::pair<const Expr*, IntRange>> found;
  if (sum->op != ExprOp::Add) return found;
  const Polynomial p = polynomial_of(sum);
  for (const Term& t : p) {
    const bool is_symbol =
        t.factors.size() == 1 && t.factors[0].exponent == 1 && t.factors[0].atom->is_symbol();
    if (!is_symbol) continue;
    IntRange part = range_of(sum);
    for (const Term& other : p)
      if (&other != &t) part = part + range_of(expr_of(pool, {other})) * IntRange::of(-1);
    const Expr* symbol = t.factors[0].atom;
    if (part.lo != IntRange::kMin)
      found.emplace_back(symbol, solutions(ExprOp::Ge, t.coefficient, -part.lo));
    if (part.hi != IntRange::kMax)
      found.emplace_back(symbol, solutions(ExprOp::Le, t.coefficient, -part.hi));
  }
  return found;
}

void Facts::learn_relation(const Expr* e) {
  const Expr* difference = sign_of_difference(pool_, e->args[0], e->args[1]);
  const Affine f = affine_of(pool_, difference);
  if (e->op != ExprOp::Ne) {
    narrow_form(f.form, solutions(e->op, f.scale, f.offset));
    if (e->op == ExprOp::Eq)
      learn_equal(difference);
    else
      for (const auto& [symbol, range] :
           ranges_of_parts(pool_, f.form, [&](const Expr* part) { return range_of(part); }))
        narrow_form(symbol, range);
    return;
  }
  // A value that is ruled out matters at the ends of the range.
  const int64_t out = -f.offset / f.scale;
  const IntRange r = range_of(f.form);
  if (out == r.lo) narrow_form(f.form, {r.lo + 1, r.hi});
  if (out == r.hi) narrow_form(f.form, {r.lo, r.hi - 1});
}

void Facts::learn_equal(const Expr* difference) {
  Polynomial p = polynomial_of(simplify(difference));
  const Term* found = solvable_term(p);
  if (!found) return;
  const Expr* symbol = found->factors[0].atom;
  const int64_t sign = found->coefficient;
  const Expr* rest = pool_.subtract(expr_of(pool_, p), expr_of(pool_, {*found}));
  const Expr* value = pool_.mul(pool_.integer(-sign), rest);
  const IntRange range = range_of(symbol);
  if (is_size_like(symbol) && value->is_symbol() && !value->has_hint) add_size_like(value);
  replace(symbol, value);
  narrow(value, range);
}

void Facts::narrow(const Expr* e, IntRange range) {
  const Affine f = affine_of(pool_, simplify(e));
  if (!f.form) {
    TAEDA_CHECK(range.has(f.offset), "the size ", f.offset, " is outside of the range ", range,
                " that was assumed of it");
    return;
  }
  if (range.lo != IntRange::kMin)
    narrow_form(f.form, solutions(ExprOp::Ge, f.scale, f.offset - range.lo));
  if (range.hi != IntRange::kMax) {
    const Affine again = affine_of(pool_, simplify(e));
    if (again.form)
      narrow_form(again.form, solutions(ExprOp::Le, again.scale, again.offset - range.hi));
  }
}

void Facts::narrow_form(const Expr* form, IntRange range) {
  const IntRange old = range_of(form), now = intersection(old, range);
  TAEDA_CHECK(!now.is_empty(), "no value of ", text_of(form),
              " is possible: it was known to be in ", old, " and is now assumed to be in ", range);
  if (now == old) return;
  ranges_[form] = now;
  simplified_.clear();
  if (now.is_single() && form->op != ExprOp::Add && form->op != ExprOp::Mul)
    replace(form, pool_.integer(now.lo));
}

void Facts::replace(const Expr* part, const Expr* by) {
  simplified_.clear();
  if (!part->is_symbol()) {
    forms_[part] = by;
    return;
  }
  const Replacements one{{part, by}};
  for (auto& [from, to] : symbols_) to = substitute(pool_, to, one);
  symbols_[part] = by;
  // Facts about forms with this symbol become facts about the forms after the replacement; a form
  // that has become a constant has a range of one value.
  forms_.clear();
  const auto ranges = std::exchange(ranges_, {});
  const auto known = std::exchange(known_, {});
  for (const auto& [form, r] : ranges)
    if (form != part) narrow(form, r);
  for (const auto& [condition, truth] : known)
    if (truth) learn(condition);
}

}  // namespace taeda::symbolic
