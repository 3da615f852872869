// Reading the index language: the inverse of text_of and python_text_of.
#pragma once

#include <string_view>

#include "taeda/base/function_ref.h"
#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {

using SymbolOf = FunctionRef<const Expr*(const std::string& name)>;

// The expression of a text in either notation: 2*s0 + 1, (s0//2), Mod(s0, 4), s0 % 4, Max(1, s0),
// max(1, s0), s0**2, Eq(s0, 3), s0 == 3, s0 < 9, ~(s0 < z0), Piecewise((s0, s0 < 9), (9, True)),
// s0 if s0 < 9 else 9. Operators bind as in Python; comparisons do not chain. Integers become
// floats beside floats, truth values integers beside numbers.
//
// What was printed reads as the same object of the pool, but for products that were too large to
// multiply out (polynomial.h). `symbol_of` gives the symbol of a name; without it a symbol is an
// integer without bounds, or what the pool has by that name.
//
// RuntimeError with the column for other texts; length, nesting and the size of the expression are
// bounded, so any text is safe to read. Overflow and ZeroDivision where constants give none.
TAEDA_API const Expr* parse(ExprPool& pool, std::string_view text);
TAEDA_API const Expr* parse(ExprPool& pool, std::string_view text, SymbolOf symbol_of);

}  // namespace taeda::symbolic
