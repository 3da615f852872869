// Simplification at construction, by rules that hold for all values of the symbols.
#include "taeda/symbolic/expr_rules.h"

#include <algorithm>

#include "taeda/symbolic/polynomial.h"

namespace taeda::symbolic {
namespace {

SymKind result_kind(ExprOp op, Span<const Expr*> args) {
  if (op >= ExprOp::Eq && op <= ExprOp::Not) return SymKind::Bool;
  if (op >= ExprOp::FloatAdd && op < ExprOp::FloorToInt) return SymKind::Float;
  switch (op) {
    case ExprOp::FloorDiv:
    case ExprOp::Mod:
    case ExprOp::Min:
    case ExprOp::Max:
    case ExprOp::Where: return args.back()->kind;
    default: return SymKind::Int;
  }
}

const Expr* plain(ExprPool& pool, ExprOp op, Span<const Expr*> args) {
  return pool.intern(op, result_kind(op, args), ExprArgs(args.begin(), args.end()));
}

const Expr* floor_div(ExprPool& pool, const Expr* a, const Expr* b) {
  if (a->kind == SymKind::Float) return plain(pool, ExprOp::FloorDiv, {a, b});
  if (b->is_constant(1) || a->is_constant(0)) return a;
  if (b->is_constant(-1)) return pool.negate(a);
  Polynomial x = polynomial_of(a), y = polynomial_of(b);
  if (const auto q = exact_quotient(x, y)) return expr_of(pool, *q);
  if (const Term common = common_factor(x, y); common.coefficient > 1 || !common.factors.empty()) {
    const Polynomial by{common};
    return pool.floor_div(expr_of(pool, *exact_quotient(x, by)),
                          expr_of(pool, *exact_quotient(y, by)));
  }
  const Split s = split_multiples(x, y);
  if (!s.quotient.empty())
    return pool.add(expr_of(pool, s.quotient), pool.floor_div(expr_of(pool, s.rest), b));
  if (a->op == ExprOp::FloorDiv && b->range.lo >= 1)
    return pool.floor_div(a->args[0], pool.mul(a->args[1], b));
  if (b->range.lo >= 1 && a->range.lo >= 0 && a->range.hi < b->range.lo) return pool.integer(0);
  return plain(pool, ExprOp::FloorDiv, {a, b});
}

const Expr* modulo(ExprPool& pool, const Expr* a, const Expr* b) {
  if (a->kind == SymKind::Float) return plain(pool, ExprOp::Mod, {a, b});
  Polynomial x = polynomial_of(a), y = polynomial_of(b);
  if (b->is_constant(1) || b->is_constant(-1) || exact_quotient(x, y)) return pool.integer(0);
  if (const Term common = common_factor(x, y); common.coefficient > 1 && common.factors.empty()) {
    const Polynomial by{common};
    return pool.mul(
        pool.integer(common.coefficient),
        pool.modulo(expr_of(pool, *exact_quotient(x, by)), expr_of(pool, *exact_quotient(y, by))));
  }
  const Split s = split_multiples(x, y);
  if (!s.quotient.empty()) return pool.modulo(expr_of(pool, s.rest), b);
  if (a->op == ExprOp::Mod && a->args[1] == b) return a;
  if (b->range.lo >= 1 && a->range.lo >= 0 && a->range.hi < b->range.lo) return a;
  return plain(pool, ExprOp::Mod, {a, b});
}

const Expr* int_pow(ExprPool& pool, const Expr* base, const Expr* exponent) {
  if (exponent->is_constant())
    if (const auto power = monomial_power(polynomial_of(base), exponent->value.integer))
      return expr_of(pool, *power);
  if (!exponent->is_constant() || exponent->value.integer < 0 || exponent->value.integer > 64)
    return plain(pool, ExprOp::IntPow, {base, exponent});
  const Expr* result = pool.integer(1);
  for (int64_t i = 0; i < exponent->value.integer; ++i) result = pool.mul(result, base);
  return result;
}

// Whether a >= b for all values.
bool is_at_least(ExprPool& pool, const Expr* a, const Expr* b) {
  return sign_of_difference(pool, a, b)->range.lo >= 0;
}

const Expr* extremum(ExprPool& pool, ExprOp op, const Expr* a, const Expr* b) {
  if (a == b) return a;
  if (a->kind == SymKind::Float) return plain(pool, op, {a, b});
  // Operands of one extremum do not lose to each other.
  const auto operands = [op](const Expr* e) { return e->op == op ? e->args : ExprArgs{e}; };
  const ExprArgs first = operands(a), all = operands(b);
  std::vector<const Expr*> kept(first.begin(), first.end());
  const auto loses = [&](const Expr* e, const Expr* to) {
    return op == ExprOp::Max ? is_at_least(pool, to, e) : is_at_least(pool, e, to);
  };
  for (const Expr* e : all) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Expr* k) { return loses(e, k); })) continue;
    std::erase_if(kept, [&](const Expr* k) { return loses(k, e); });
    kept.push_back(e);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end(), [](const Expr* x, const Expr* y) {
    if (x->is_constant() != y->is_constant()) return x->is_constant();
    return x->id < y->id;
  });
  return pool.intern(op, SymKind::Int, ExprArgs(kept.begin(), kept.end()));
}

const Expr* relation(ExprPool& pool, ExprOp op, const Expr* a, const Expr* b) {
  if (a->kind == SymKind::Float) {
    // x == x is false for a NaN.
    return plain(pool, op, {a, b});
  }
  if (a->kind == SymKind::Bool) {
    if (a == b) return pool.truth(op == ExprOp::Eq || op == ExprOp::Le || op == ExprOp::Ge);
    return plain(pool, op, {a, b});
  }
  const Expr* difference = sign_of_difference(pool, a, b);
  if (const auto answer = decided(op, difference->range)) return pool.truth(*answer);
  if (op == ExprOp::Eq || op == ExprOp::Ne) {
    const Affine f = affine_of(pool, difference);
    if (f.offset % f.scale != 0) return pool.truth(op == ExprOp::Ne);
  }
  return plain(pool, op, {a, b});
}

const Expr* logical_not(ExprPool& pool, const Expr* a) {
  if (a->op == ExprOp::Not) return a->args[0];
  // The negation of a comparison of floats is no comparison, because of NaN.
  if (a->is_relation() && (a->args[0]->kind == SymKind::Int || a->op <= ExprOp::Ne))
    return pool.make(negated_relation(a->op), a->args[0], a->args[1]);
  if (a->op == ExprOp::And || a->op == ExprOp::Or)
    return pool.make(a->op == ExprOp::And ? ExprOp::Or : ExprOp::And, pool.logical_not(a->args[0]),
                     pool.logical_not(a->args[1]));
  return plain(pool, ExprOp::Not, {a});
}

const Expr* junction(ExprPool& pool, ExprOp op, const Expr* a, const Expr* b) {
  const bool neutral = op == ExprOp::And;
  if (a == b) return a;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (x->is_constant()) return (x->value.integer != 0) == neutral ? y : x;
  if (pool.logical_not(a) == b) return pool.truth(!neutral);
  return plain(pool, op, {a, b});
}

}  // namespace

std::optional<bool> decided(ExprOp op, const IntRange& difference) {
  switch (op) {
    case ExprOp::Eq:
      if (!difference.has(0)) return false;
      if (difference.is_single()) return true;
      return std::nullopt;
    case ExprOp::Lt:
      if (difference.hi < 0) return true;
      if (difference.lo >= 0) return false;
      return std::nullopt;
    case ExprOp::Le:
      if (difference.hi <= 0) return true;
      if (difference.lo > 0) return false;
      return std::nullopt;
    default: {
      const auto opposite = decided(negated_relation(op), difference);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
  }
}

ExprOp negated_relation(ExprOp op) {
  switch (op) {
    case ExprOp::Eq: return ExprOp::Ne;
    case ExprOp::Ne: return ExprOp::Eq;
    case ExprOp::Lt: return ExprOp::Ge;
    case ExprOp::Le: return ExprOp::Gt;
    case ExprOp::Gt: return ExprOp::Le;
    default: return ExprOp::Lt;
  }
}

ExprOp mirrored_relation(ExprOp op) {
  switch (op) {
    case ExprOp::Lt: return ExprOp::Gt;
    case ExprOp::Le: return ExprOp::Ge;
    case ExprOp::Gt: return ExprOp::Lt;
    case ExprOp::Ge: return ExprOp::Le;
    default: return op;
  }
}

const Expr* simplified(ExprPool& pool, ExprOp op, Span<const Expr*> args) {
  if (op == ExprOp::FloorDiv || op == ExprOp::Mod)
    TAEDA_CHECK_KIND(ErrorKind::ZeroDivision,
                     args[1]->kind == SymKind::Float || !args[1]->is_constant(0),
                     "integer division or modulo by zero");
  if (std::all_of(args.begin(), args.end(), [](const Expr* a) { return a->is_constant(); })) {
    SmallVector<ExprValue, 4> values;
    for (const Expr* a : args) values.push_back(a->value);
    return pool.constant(apply_op(op, values));
  }
  const Expr *a = args[0], *b = args.size() > 1 ? args[1] : nullptr;
  switch (op) {
    case ExprOp::Add: return expr_of(pool, sum(polynomial_of(a), polynomial_of(b)));
    case ExprOp::Mul: return product(pool, a, b);
    case ExprOp::Pow:
    case ExprOp::IntPow: return int_pow(pool, a, b);
    case ExprOp::FloorDiv: return floor_div(pool, a, b);
    case ExprOp::Mod: return modulo(pool, a, b);
    case ExprOp::Min:
    case ExprOp::Max: return extremum(pool, op, a, b);
    case ExprOp::Eq:
    case ExprOp::Ne:
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Gt:
    case ExprOp::Ge: return relation(pool, op, a, b);
    case ExprOp::And:
    case ExprOp::Or: return junction(pool, op, a, b);
    case ExprOp::Not: return logical_not(pool, a);
    case ExprOp::FloorToInt:
    case ExprOp::CeilToInt:
    case ExprOp::RoundToInt:
    case ExprOp::TruncToInt: return a->op == ExprOp::ToFloat ? a->args[0] : plain(pool, op, args);
    case ExprOp::Where:
      if (a->is_constant()) return a->value.integer ? args[1] : args[2];
      return args[1] == args[2] ? args[1] : plain(pool, op, args);
    default: return plain(pool, op, args);
  }
}

}  // namespace taeda::symbolic
