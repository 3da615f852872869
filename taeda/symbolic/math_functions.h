// Functions of Python's `math` on floats, as expressions have them: their operations, names and
// numbers of operands. sqrt is none of them: kernels compute it as the host does.
#pragma once

#include <cstddef>

#define TAEDA_MATH_FUNCTIONS(X) \
  X(Exp, exp, 1)                \
  X(Exp2, exp2, 1)              \
  X(Expm1, expm1, 1)            \
  X(Log, log, 1)                \
  X(Log2, log2, 1)              \
  X(Log10, log10, 1)            \
  X(Log1p, log1p, 1)            \
  X(Cbrt, cbrt, 1)              \
  X(Fabs, fabs, 1)              \
  X(Sin, sin, 1)                \
  X(Cos, cos, 1)                \
  X(Tan, tan, 1)                \
  X(Asin, asin, 1)              \
  X(Acos, acos, 1)              \
  X(Atan, atan, 1)              \
  X(Sinh, sinh, 1)              \
  X(Cosh, cosh, 1)              \
  X(Tanh, tanh, 1)              \
  X(Asinh, asinh, 1)            \
  X(Acosh, acosh, 1)            \
  X(Atanh, atanh, 1)            \
  X(Erf, erf, 1)                \
  X(Erfc, erfc, 1)              \
  X(Atan2, atan2, 2)            \
  X(Hypot, hypot, 2)            \
  X(Copysign, copysign, 2)      \
  X(Fmod, fmod, 2)              \
  X(Remainder, remainder, 2)

namespace taeda::symbolic {

struct MathFunction {
  const char* name;     // of math
  const char* builtin;  // of graphs
  size_t num_args;
  // Functions of one number do not look at the second. What Python refuses is infinite or no
  // number.
  double (*call)(double, double);
};

}  // namespace taeda::symbolic
