// The operations of expressions as bodies over Vec.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/kernel/expr.h"
#include "taeda/kernel/vec.h"

TAEDA_MATH_BEGIN

template <Op op>
struct Primitive;

// The operations, spelled as bodies spell them, and the kinds of numbers that they take: r real,
// i 64-bit integers, c complex.
#define TAEDA_PRIMITIVE(id, kinds, parameters, call) \
  template <>                                        \
  struct Primitive<Op::id> {                         \
    static constexpr const char* kKinds = kinds;     \
    template <class V>                               \
    static auto apply parameters {                   \
      return call;                                   \
    }                                                \
  };
#define TAEDA_UNARY(id, kinds, call) TAEDA_PRIMITIVE(id, kinds, (V a), call)
#define TAEDA_BINARY(id, kinds, call) TAEDA_PRIMITIVE(id, kinds, (V a, V b), call)
TAEDA_BINARY(Add, "ric", a + b)
TAEDA_BINARY(Sub, "ric", a - b)
TAEDA_BINARY(Mul, "ric", a* b)
TAEDA_BINARY(Div, "rc", a / b)
TAEDA_UNARY(Neg, "ric", -a)
TAEDA_BINARY(Lt, "ri", a < b)
TAEDA_BINARY(Gt, "ri", a > b)
TAEDA_BINARY(Le, "ri", a <= b)
TAEDA_BINARY(Ge, "ri", a >= b)
TAEDA_BINARY(Eq, "ric", a == b)
TAEDA_BINARY(Ne, "ric", a != b)
TAEDA_BINARY(And, "i", a& b)
TAEDA_BINARY(Or, "i", a | b)
TAEDA_BINARY(Xor, "i", a ^ b)
TAEDA_UNARY(BitNot, "i", ~a)
TAEDA_BINARY(Shl, "i", a << b)
TAEDA_BINARY(Shr, "i", a >> b)
TAEDA_PRIMITIVE(Where, "ric", (MaskOf<V> c, V a, V b), where(c, a, b))
TAEDA_PRIMITIVE(Fma, "r", (V a, V b, V c), fma(a, b, c))
TAEDA_BINARY(Maximum, "ri", maximum(a, b))
TAEDA_BINARY(Minimum, "ri", minimum(a, b))
TAEDA_BINARY(Fmax, "ri", fmax(a, b))
TAEDA_BINARY(Fmin, "ri", fmin(a, b))
TAEDA_BINARY(DivTrunc, "ri", div_trunc(a, b))
TAEDA_BINARY(DivFloor, "ri", div_floor(a, b))
TAEDA_BINARY(Fmod, "ri", fmod(a, b))
TAEDA_BINARY(Remainder, "ri", remainder(a, b))
TAEDA_BINARY(Pow, "ric", pow(a, b))
TAEDA_BINARY(Atan2, "r", atan2(a, b))
TAEDA_BINARY(Copysign, "r", copysign(a, b))
TAEDA_UNARY(Abs, "ric", abs(a))
TAEDA_UNARY(Real, "rc", real(a))
TAEDA_UNARY(Imag, "rc", imag(a))
TAEDA_UNARY(Conj, "rc", conj(a))
TAEDA_UNARY(IsNan, "rc", isnan(a))
TAEDA_UNARY(IsInf, "rc", isinf(a))
TAEDA_UNARY(IsFinite, "rc", isfinite(a))
TAEDA_UNARY(Floor, "r", floor(a))
TAEDA_UNARY(Ceil, "r", ceil(a))
TAEDA_UNARY(Trunc, "r", trunc(a))
TAEDA_UNARY(Nearest, "r", round(a))
TAEDA_UNARY(Sqrt, "rc", sqrt(a))
TAEDA_UNARY(Rsqrt, "rc", rsqrt(a))
TAEDA_UNARY(Exp, "rc", exp(a))
TAEDA_UNARY(Exp2, "rc", exp2(a))
TAEDA_UNARY(Expm1, "rc", expm1(a))
TAEDA_UNARY(Log, "rc", log(a))
TAEDA_UNARY(Log2, "rc", log2(a))
TAEDA_UNARY(Log10, "rc", log10(a))
TAEDA_UNARY(Log1p, "rc", log1p(a))
TAEDA_UNARY(Sin, "rc", sin(a))
TAEDA_UNARY(Cos, "rc", cos(a))
TAEDA_UNARY(Tan, "rc", tan(a))
TAEDA_UNARY(Asin, "rc", asin(a))
TAEDA_UNARY(Acos, "rc", acos(a))
TAEDA_UNARY(Atan, "rc", atan(a))
TAEDA_UNARY(Sinh, "rc", sinh(a))
TAEDA_UNARY(Cosh, "rc", cosh(a))
TAEDA_UNARY(Tanh, "rc", tanh(a))
TAEDA_UNARY(Asinh, "rc", asinh(a))
TAEDA_UNARY(Acosh, "rc", acosh(a))
TAEDA_UNARY(Atanh, "rc", atanh(a))
TAEDA_UNARY(Erf, "r", erf(a))
TAEDA_UNARY(Erfc, "r", erfc(a))
TAEDA_UNARY(Erfinv, "r", erfinv(a))
TAEDA_UNARY(Lgamma, "r", lgamma(a))
TAEDA_UNARY(Digamma, "r", digamma(a))
#define TAEDA_CALL_1 (V a)
#define TAEDA_CALL_2 (V a, V b)
#define TAEDA_CALL_3 (V a, V b, V c)
#define TAEDA_GIVEN_1 (a)
#define TAEDA_GIVEN_2 (a, b)
#define TAEDA_GIVEN_3 (a, b, c)
#define TAEDA_CALL(id, name, arity, kinds, text) \
  TAEDA_PRIMITIVE(id, kinds, TAEDA_CALL_##arity, name TAEDA_GIVEN_##arity)
TAEDA_CALLED_FUNCTIONS(TAEDA_CALL)
#undef TAEDA_CALL
#undef TAEDA_CALL_1
#undef TAEDA_CALL_2
#undef TAEDA_CALL_3
#undef TAEDA_GIVEN_1
#undef TAEDA_GIVEN_2
#undef TAEDA_GIVEN_3
#undef TAEDA_UNARY
#undef TAEDA_BINARY
#undef TAEDA_PRIMITIVE

template <Op op, class V>
constexpr bool takes() {
  if constexpr (requires { Primitive<op>::kKinds; }) {
    const char kind = V::kIsComplex ? 'c' : V::kIsInteger ? 'i' : 'r';
    for (const char* p = Primitive<op>::kKinds; *p; ++p)
      if (*p == kind) return true;
  }
  return false;
}

// run_tile of an operation over operands of T; null where it has none.
template <Op op, class T>
constexpr auto tile_primitive() -> void (*)(char* const*, int64_t, const void*) {
  if constexpr (takes<op, Vec<T>>())
    return &run_tile<Primitive<op>, T>;
  else
    return nullptr;
}

TAEDA_MATH_END
