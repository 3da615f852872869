// Values and ranges of expressions.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "taeda/symbolic/expr.h"
#include "taeda/symbolic/float_division.h"

namespace taeda::symbolic {
namespace {

int64_t overflowed(const char* op, int64_t a, int64_t b) {
  fail(ErrorKind::Overflow, "integer overflow in a symbolic shape: ", a, " ", op, " ", b);
}
int64_t add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? overflowed("+", a, b) : r;
}
int64_t multiply(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? overflowed("*", a, b) : r;
}
int64_t power(int64_t base, int64_t exponent) {
  TAEDA_CHECK_VALUE(exponent >= 0, "negative exponent of an integer power: ", exponent);
  if (base == 1 || base == -1) return exponent % 2 == 0 ? 1 : base;
  int64_t r = 1;
  for (int64_t i = 0; i < exponent && r != 0; ++i) r = multiply(r, base);
  return r;
}
int64_t quotient(int64_t a, int64_t b) {
  TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, b != 0, "integer division or modulo by zero");
  return b == -1 ? multiply(a, b) : floor_divide(a, b);
}
double divisor(double b) {
  TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, b != 0, "division by zero");
  return b;
}
int64_t to_integer(double v) {
  TAEDA_CHECK_KIND(ErrorKind::Overflow, v >= -9223372036854775808.0 && v < 9223372036854775808.0,
                   "cannot convert float ", v, " to integer");
  return static_cast<int64_t>(v);
}

template <class T>
bool compare(ExprOp op, T a, T b) {
  switch (op) {
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Gt: return a > b;
    default: return a >= b;
  }
}

template <class F>
ExprValue fold(Span<ExprValue> v, F&& f) {
  int64_t r = v[0].integer;
  for (const ExprValue& x : v.drop_front()) r = f(r, x.integer);
  return ExprValue::of(r);
}

}  // namespace

double round_decimal(double v, int64_t digits) {
  if (!std::isfinite(v) || digits > 308) return v;
  if (digits < -308) return 0;
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(v / unit) * unit;
  }
  // Printing rounds the number itself, halves to even digits; multiplying would round twice.
  char text[700];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), v);
  return std::strtod(text, nullptr);
}

ExprValue apply_op(ExprOp op, Span<ExprValue> v) {
  const double x = v[0].as_double(), y = v.size() > 1 ? v[1].as_double() : 0;
  const bool is_float = v[0].kind == SymKind::Float;
  if (is_math(op)) return ExprValue::of(math_function(op).call(x, y));
  switch (op) {
    case ExprOp::Add: return fold(v, add);
    case ExprOp::Mul: return fold(v, multiply);
    case ExprOp::Pow:
    case ExprOp::IntPow: return fold(v, power);
    case ExprOp::FloorDiv:
      if (is_float) return ExprValue::of(float_floor_divide(x, divisor(y)));
      return fold(v, quotient);
    case ExprOp::Mod:
      if (is_float) return ExprValue::of(float_modulo(x, divisor(y)));
      return fold(v, [](int64_t a, int64_t b) { return a - quotient(a, b) * b; });
    case ExprOp::Min:
      if (is_float) return ExprValue::of(std::min(x, y));
      return fold(v, [](int64_t a, int64_t b) { return std::min(a, b); });
    case ExprOp::Max:
      if (is_float) return ExprValue::of(std::max(x, y));
      return fold(v, [](int64_t a, int64_t b) { return std::max(a, b); });
    case ExprOp::BitAnd: return fold(v, [](int64_t a, int64_t b) { return a & b; });
    case ExprOp::BitOr: return fold(v, [](int64_t a, int64_t b) { return a | b; });
    case ExprOp::BitXor: return fold(v, [](int64_t a, int64_t b) { return a ^ b; });
    case ExprOp::FloatAdd: return ExprValue::of(x + y);
    case ExprOp::FloatSub: return ExprValue::of(x - y);
    case ExprOp::FloatMul: return ExprValue::of(x * y);
    case ExprOp::FloatDiv:
    case ExprOp::IntTrueDiv: return ExprValue::of(x / divisor(y));
    case ExprOp::FloatPow: return ExprValue::of(std::pow(x, y));
    case ExprOp::ToFloat: return ExprValue::of(x);
    case ExprOp::RoundDecimal: return ExprValue::of(round_decimal(x, v[1].integer));
    case ExprOp::Sqrt: return ExprValue::of(std::sqrt(x));
    case ExprOp::FloorToInt: return ExprValue::of(to_integer(std::floor(x)));
    case ExprOp::CeilToInt: return ExprValue::of(to_integer(std::ceil(x)));
    case ExprOp::RoundToInt: return ExprValue::of(to_integer(std::nearbyint(x)));
    case ExprOp::TruncToInt: return ExprValue::of(to_integer(std::trunc(x)));
    case ExprOp::And: return ExprValue::of(v[0].integer && v[1].integer);
    case ExprOp::Or: return ExprValue::of(v[0].integer || v[1].integer);
    case ExprOp::Not: return ExprValue::of(!v[0].integer);
    case ExprOp::Where: return v[0].integer ? v[1] : v[2];
    default:
      return ExprValue::of(is_float ? compare(op, x, y) : compare(op, v[0].integer, v[1].integer));
  }
}

std::optional<ExprValue> evaluate(const Expr* e, const Assignment& values) {
  if (auto it = values.find(e); it != values.end()) return it->second;
  if (e->is_constant()) return e->value;
  if (e->is_symbol()) return std::nullopt;
  SmallVector<ExprValue, 4> args;
  for (const Expr* a : e->args) {
    const auto v = evaluate(a, values);
    if (!v) return std::nullopt;
    args.push_back(*v);
  }
  return apply_op(e->op, args);
}

namespace {

IntRange power_range(const IntRange& base, const IntRange& exponent) {
  if (!exponent.is_single() || exponent.lo < 1 || exponent.lo > 64)
    return base.lo >= 1 && exponent.lo >= 0 ? IntRange{1, IntRange::kMax} : IntRange{};
  IntRange r = base;
  for (int64_t i = 1; i < exponent.lo; ++i) r = r * base;
  if (exponent.lo % 2 == 0) r.lo = std::max<int64_t>(r.lo, 0);
  return r;
}

}  // namespace

IntRange range_of_op(const Expr* e, Span<IntRange> args) {
  IntRange r = args[0];
  switch (e->op) {
    case ExprOp::Add:
      for (const IntRange& a : args.drop_front()) r = r + a;
      return r;
    case ExprOp::Mul:
      for (const IntRange& a : args.drop_front()) r = r * a;
      return r;
    case ExprOp::Pow:
    case ExprOp::IntPow: return power_range(args[0], args[1]);
    case ExprOp::FloorDiv: return floor_div(args[0], args[1]);
    case ExprOp::Mod: return modulo(args[0], args[1]);
    case ExprOp::Min:
      for (const IntRange& a : args.drop_front()) r = {std::min(r.lo, a.lo), std::min(r.hi, a.hi)};
      return r;
    case ExprOp::Max:
      for (const IntRange& a : args.drop_front()) r = {std::max(r.lo, a.lo), std::max(r.hi, a.hi)};
      return r;
    case ExprOp::Where: return hull(args[1], args[2]);
    case ExprOp::BitAnd:
      if (args[0].lo < 0 && args[1].lo < 0) return {};
      if (args[0].lo < 0) return {0, args[1].hi};
      return {0, args[1].lo < 0 ? args[0].hi : std::min(args[0].hi, args[1].hi)};
    case ExprOp::BitOr:
    case ExprOp::BitXor:
      return args[0].lo < 0 || args[1].lo < 0 ? IntRange{} : IntRange{0, IntRange::kMax};
    default: return {};
  }
}

}  // namespace taeda::symbolic
