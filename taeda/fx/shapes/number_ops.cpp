// The expressions of Python's operations on numbers.
#include "taeda/fx/shapes/number_ops.h"

namespace taeda::fx {

namespace {

// The factor by which a shift by `count` multiplies or divides.
const Expr* shift_factor(ExprPool& pool, const Expr* count) {
  TAEDA_CHECK_VALUE(!count->is_constant() || count->value.integer >= 0, "negative shift count");
  return pool.make(ExprOp::IntPow, pool.integer(2), count);
}

const Expr* apply_to_ints(ExprPool& pool, NumberOp op, const Expr* a, const Expr* b) {
  switch (op) {
    case NumberOp::Add: return pool.add(a, b);
    case NumberOp::Sub: return pool.subtract(a, b);
    case NumberOp::Mul: return pool.mul(a, b);
    case NumberOp::TrueDiv: return pool.make(ExprOp::IntTrueDiv, a, b);
    case NumberOp::FloorDiv: return pool.floor_div(a, b);
    case NumberOp::Mod: return pool.modulo(a, b);
    case NumberOp::LeftShift: return pool.mul(a, shift_factor(pool, b));
    case NumberOp::RightShift: return pool.floor_div(a, shift_factor(pool, b));
    case NumberOp::Pow:
      // A negative power is a float, as in Python.
      return b->is_constant() && b->value.integer < 0
                 ? pool.make(ExprOp::FloatPow, pool.to_float(a), pool.to_float(b))
                 : pool.make(ExprOp::IntPow, a, b);
    default: return nullptr;
  }
}

const Expr* apply_to_floats(ExprPool& pool, NumberOp op, const Expr* a, const Expr* b) {
  const auto floored = [&] {
    return pool.to_float(pool.make(ExprOp::FloorToInt, {pool.make(ExprOp::FloatDiv, a, b)}));
  };
  switch (op) {
    case NumberOp::Add: return pool.make(ExprOp::FloatAdd, a, b);
    case NumberOp::Sub: return pool.make(ExprOp::FloatSub, a, b);
    case NumberOp::Mul: return pool.make(ExprOp::FloatMul, a, b);
    case NumberOp::TrueDiv: return pool.make(ExprOp::FloatDiv, a, b);
    case NumberOp::FloorDiv: return floored();
    case NumberOp::Mod:
      return pool.make(ExprOp::FloatSub, a, pool.make(ExprOp::FloatMul, b, floored()));
    case NumberOp::Pow: return pool.make(ExprOp::FloatPow, a, b);
    default: return nullptr;
  }
}

// Of two truth values a truth value; of integers an operation on their bits.
const Expr* apply_to_bits(ExprPool& pool, NumberOp op, const Expr* a, const Expr* b) {
  if (a->kind == SymKind::Float || b->kind == SymKind::Float) return nullptr;
  const bool are_truths = a->kind == SymKind::Bool && b->kind == SymKind::Bool;
  if (are_truths && op == NumberOp::Xor) return pool.make(ExprOp::Ne, a, b);
  if (are_truths) return pool.make(op == NumberOp::And ? ExprOp::And : ExprOp::Or, a, b);
  const ExprOp on_bits = op == NumberOp::And  ? ExprOp::BitAnd
                         : op == NumberOp::Or ? ExprOp::BitOr
                                              : ExprOp::BitXor;
  return pool.make(on_bits, as_number(pool, a), as_number(pool, b));
}

std::optional<ExprOp> same_for_all_kinds(NumberOp op) {
  switch (op) {
    case NumberOp::Eq: return ExprOp::Eq;
    case NumberOp::Ne: return ExprOp::Ne;
    case NumberOp::Lt: return ExprOp::Lt;
    case NumberOp::Le: return ExprOp::Le;
    case NumberOp::Gt: return ExprOp::Gt;
    case NumberOp::Ge: return ExprOp::Ge;
    case NumberOp::Min: return ExprOp::Min;
    case NumberOp::Max: return ExprOp::Max;
    default: return std::nullopt;
  }
}

}  // namespace

const Expr* as_number(ExprPool& pool, const Expr* a) {
  return a->kind == SymKind::Bool ? pool.where(a, pool.integer(1), pool.integer(0)) : a;
}

const Expr* as_float(ExprPool& pool, const Expr* a) {
  return a->kind == SymKind::Float ? a : pool.to_float(as_number(pool, a));
}

const Expr* as_integer(ExprPool& pool, ExprOp rounding, const Expr* a) {
  return a->kind == SymKind::Float ? pool.make(rounding, {a}) : as_number(pool, a);
}

const Expr* apply_number_op(ExprPool& pool, NumberOp op, const Expr* a, const Expr* b) {
  if (op == NumberOp::And || op == NumberOp::Or || op == NumberOp::Xor)
    return apply_to_bits(pool, op, a, b);
  const auto shared = same_for_all_kinds(op);
  if (shared && a->kind == SymKind::Bool && b->kind == SymKind::Bool && *shared >= ExprOp::Eq)
    return pool.make(*shared, a, b);
  const bool is_float = a->kind == SymKind::Float || b->kind == SymKind::Float;
  a = is_float ? as_float(pool, a) : as_number(pool, a);
  b = is_float ? as_float(pool, b) : as_number(pool, b);
  if (shared) return pool.make(*shared, a, b);
  return is_float ? apply_to_floats(pool, op, a, b) : apply_to_ints(pool, op, a, b);
}

const Expr* negated(ExprPool& pool, const Expr* a) {
  if (a->kind != SymKind::Float) return pool.negate(as_number(pool, a));
  return pool.make(ExprOp::FloatMul, pool.constant(ExprValue::of(-1.0)), a);
}

const Expr* absolute(ExprPool& pool, const Expr* a) {
  const Expr *number = as_number(pool, a), *minus = negated(pool, number);
  if (number->kind == SymKind::Int) return pool.make(ExprOp::Max, number, minus);
  const Expr* zero = pool.constant(ExprValue::of(0.0));
  return pool.where(pool.make(ExprOp::Ge, number, zero), number, minus);
}

}  // namespace taeda::fx
