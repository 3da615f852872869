// The expressions of Python's operations on numbers.
#include "taeda/fx/shapes/number_ops.h"

#include <algorithm>

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
  switch (op) {
    case NumberOp::Add: return pool.make(ExprOp::FloatAdd, a, b);
    case NumberOp::Sub: return pool.make(ExprOp::FloatSub, a, b);
    case NumberOp::Mul: return pool.make(ExprOp::FloatMul, a, b);
    case NumberOp::TrueDiv: return pool.make(ExprOp::FloatDiv, a, b);
    case NumberOp::FloorDiv: return pool.floor_div(a, b);
    case NumberOp::Mod: return pool.modulo(a, b);
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

namespace {

// A number of a captured program: sizes are not below zero, and inputs of exported programs that
// are integers have 64 bits.
bool is_program_number(const Expr* symbol) {
  return symbol->kind == SymKind::Float ||
         (symbol->range.lo < 0 && symbol->range.lo != IntRange::kMin);
}

// With sizes below 2^31, which leaves products of two.
IntRange likely_range(const Expr* e) {
  if (e->is_constant() || e->kind != SymKind::Int) return e->range;
  constexpr int64_t kMost = int64_t{1} << 31;
  if (e->is_symbol()) return is_program_number(e) ? e->range : intersection(e->range, {0, kMost});
  SmallVector<IntRange, 4> args;
  for (const Expr* a : e->args) args.push_back(likely_range(a));
  return range_of_op(e, args);
}

bool may_leave(const Expr* e, IntRange range) {
  if (e->is_constant() || e->kind != SymKind::Int || e->range.is_inside(range)) return false;
  const auto symbols = symbols_of(e);
  // Numbers that only data tells are as wide as their tensors.
  const bool is_known = std::all_of(symbols.begin(), symbols.end(), [](const Expr* s) {
    return s->has_hint || (s->range.lo != IntRange::kMin && s->range.hi != IntRange::kMax);
  });
  return is_known && std::any_of(symbols.begin(), symbols.end(), is_program_number) &&
         !likely_range(e).is_inside(range);
}

void guard_within(ShapeEnv& env, const Expr* e, int64_t most) {
  if (!may_leave(e, {-most, most})) return;
  ExprPool& pool = env.pool();
  for (const Expr* holds : {pool.make(ExprOp::Le, e, pool.integer(most)),
                            pool.make(ExprOp::Ge, e, pool.integer(-most))}) {
    const bool is_so = e->has_hint ? env.evaluate(holds) : env.expect_true(holds);
    TAEDA_CHECK_KIND(ErrorKind::Overflow, is_so, "a number of the program leaves 64 bits");
  }
}

}  // namespace

const Expr* within_words(ShapeEnv& env, const Expr* e) {
  guard_within(env, e, int64_t{1} << 62);  // differences to these fit, too
  return e;
}

const Expr* apply_guarded(ShapeEnv& env, NumberOp op, const Expr* a, const Expr* b) {
  ExprPool& pool = env.pool();
  const bool are_ints = a->kind != SymKind::Float && b->kind != SymKind::Float;
  const bool is_shift = op == NumberOp::LeftShift || op == NumberOp::RightShift;
  if (are_ints && (is_shift || op == NumberOp::Pow) && b->has_hint && !b->is_constant()) {
    const bool is_natural =
        env.evaluate(pool.make(ExprOp::Ge, as_number(pool, b), pool.integer(0)));
    TAEDA_CHECK_VALUE(is_natural || !is_shift, "negative shift count");
    if (!is_natural) return apply_guarded(env, op, as_float(pool, a), as_float(pool, b));
    // What a shift divides by stays in 64 bits, too.
    if (is_shift) within_words(env, pool.make(ExprOp::IntPow, pool.integer(2), as_number(pool, b)));
  }
  // A quotient is rounded once: of integers that are floats exactly.
  if (are_ints && op == NumberOp::TrueDiv)
    for (const Expr* e : {a, b}) guard_within(env, as_number(pool, e), int64_t{1} << 53);
  const Expr* r = apply_number_op(pool, op, a, b);
  return r ? within_words(env, r) : r;
}

const Expr* negated(ExprPool& pool, const Expr* a) {
  if (a->kind != SymKind::Float) return pool.negate(as_number(pool, a));
  return pool.make(ExprOp::FloatMul, pool.constant(ExprValue::of(-1.0)), a);
}

const Expr* absolute(ExprPool& pool, const Expr* a) {
  if (a->kind == SymKind::Float) return pool.make(ExprOp::Fabs, {a});
  const Expr* number = as_number(pool, a);
  return pool.make(ExprOp::Max, number, pool.negate(number));
}

}  // namespace taeda::fx
