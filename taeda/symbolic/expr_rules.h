// The rules by which expressions are simplified when they are made.
#pragma once

#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {

// The simplest expression for an operation on operands that fit it.
const Expr* simplified(ExprPool& pool, ExprOp op, Span<const Expr*> args);
// The answer that the range of a - b gives about a relation between a and b.
std::optional<bool> decided(ExprOp op, const IntRange& difference);

}  // namespace taeda::symbolic
