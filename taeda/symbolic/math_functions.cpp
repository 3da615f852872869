#include "taeda/symbolic/math_functions.h"

#include <cmath>

#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {
namespace {

#define TAEDA_MATH_CALL_1(name) ::name(x)
#define TAEDA_MATH_CALL_2(name) ::name(x, y)
#define TAEDA_MATH_ROW(op, name, arity)                                 \
  {#name, "_sym_" #name, arity,                                         \
   []([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { \
     return TAEDA_MATH_CALL_##arity(name);                              \
   }},
constexpr MathFunction kMathFunctions[] = {TAEDA_MATH_FUNCTIONS(TAEDA_MATH_ROW)};
#undef TAEDA_MATH_ROW

}  // namespace

Span<MathFunction> math_functions() { return kMathFunctions; }

}  // namespace taeda::symbolic
