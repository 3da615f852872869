// Python's arithmetic on symbolic numbers, as expressions.
#pragma once

#include "taeda/fx/shapes/shape_env.h"

namespace taeda::python {

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
const fx::Expr* apply_number_op(fx::ExprPool& pool, NumberOp op, const fx::Expr* a,
                                const fx::Expr* b);
const fx::Expr* negated(fx::ExprPool& pool, const fx::Expr* a);
const fx::Expr* absolute(fx::ExprPool& pool, const fx::Expr* a);
// A truth value as 0 or 1; others as they are.
const fx::Expr* as_number(fx::ExprPool& pool, const fx::Expr* a);
const fx::Expr* as_float(fx::ExprPool& pool, const fx::Expr* a);
// Floats are rounded by `rounding` (FloorToInt, CeilToInt, RoundToInt, TruncToInt).
const fx::Expr* as_integer(fx::ExprPool& pool, fx::ExprOp rounding, const fx::Expr* a);

}  // namespace taeda::python
