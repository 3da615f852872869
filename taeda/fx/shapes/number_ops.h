// Python's arithmetic on symbolic numbers, as expressions; graphs and bindings share it.
#pragma once

#include "taeda/fx/shapes/shape_env.h"

namespace taeda::fx {

// Python's operators and math functions on symbolic numbers.
enum class NumberOp : uint8_t {
  Add,
  Sub,
  Mul,
  TrueDiv,
  FloorDiv,
  Mod,
  Pow,
  LeftShift,
  RightShift,
  And,
  Or,
  Xor,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Min,
  Max,
};

// Null where Python has no such operation on these kinds.
TAEDA_API const Expr* apply_number_op(ExprPool& pool, NumberOp op, const Expr* a, const Expr* b);
TAEDA_API const Expr* negated(ExprPool& pool, const Expr* a);
TAEDA_API const Expr* absolute(ExprPool& pool, const Expr* a);
// A truth value as 0 or 1; others as they are.
TAEDA_API const Expr* as_number(ExprPool& pool, const Expr* a);
TAEDA_API const Expr* as_float(ExprPool& pool, const Expr* a);
// Python's integers have no end, those of a plan have 64 bits: guards that a number which a program
// computes of its numbers stays in them. Sizes alone are never that large.
TAEDA_API const Expr* within_words(ShapeEnv& env, const Expr* e);
// Guards on the sign of a shift's count or a power's exponent, which Python asks for first.
TAEDA_API const Expr* apply_guarded(ShapeEnv& env, NumberOp op, const Expr* a, const Expr* b);
// Floats are rounded by `rounding` (FloorToInt, CeilToInt, RoundToInt, TruncToInt).
TAEDA_API const Expr* as_integer(ExprPool& pool, ExprOp rounding, const Expr* a);

}  // namespace taeda::fx
