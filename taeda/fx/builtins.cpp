// Arithmetic on numbers and indexing of lists for closed graphs.
#include "taeda/fx/builtins.h"

#include <cmath>

#include "taeda/fx/epilogue_calls.h"
#include "taeda/fx/mode_calls.h"
#include "taeda/fx/regions.h"
#include "taeda/fx/shapes/shape_env.h"
#include "taeda/symbolic/float_division.h"

namespace taeda::fx {
namespace {

bool is_float(const Value& v) { return v.is<double>(); }
bool is_symbolic(const Value& v) { return v.is<SymInt>(); }
SymInt sym_of(const Value& v) { return is_symbolic(v) ? v.get<SymInt>() : SymInt(v.to_int()); }
Value boxed(const SymInt& v) { return v.is_symbolic() ? Value(v) : Value(v.word()); }

// One function of two numbers, given on shapes' integers and on floats.
template <SymInt (*OnInts)(const SymInt&, const SymInt&), double (*OnFloats)(double, double)>
Value number(Span<Value> a) {
  if (is_float(a[0]) || is_float(a[1])) return OnFloats(a[0].to_double(), a[1].to_double());
  return boxed(OnInts(sym_of(a[0]), sym_of(a[1])));
}
template <bool (*OnInts)(const SymInt&, const SymInt&), bool (*OnFloats)(double, double)>
Value truth(Span<Value> a) {
  if (is_float(a[0]) || is_float(a[1])) return OnFloats(a[0].to_double(), a[1].to_double());
  return OnInts(sym_of(a[0]), sym_of(a[1]));
}

#define TAEDA_NUMBER(name, op)                                           \
  SymInt name##_int(const SymInt& a, const SymInt& b) { return a op b; } \
  double name##_float(double a, double b) { return a op b; }
TAEDA_NUMBER(add, +)
TAEDA_NUMBER(sub, -)
TAEDA_NUMBER(mul, *)
#undef TAEDA_NUMBER
#define TAEDA_TRUTH(name, op)                                          \
  bool name##_int(const SymInt& a, const SymInt& b) { return a op b; } \
  bool name##_float(double a, double b) { return a op b; }
TAEDA_TRUTH(eq, ==)
TAEDA_TRUTH(ne, !=)
TAEDA_TRUTH(lt, <)
TAEDA_TRUTH(le, <=)
TAEDA_TRUTH(gt, >)
TAEDA_TRUTH(ge, >=)
#undef TAEDA_TRUTH

double checked_divisor(double b) {
  TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, b != 0, "division by zero");
  return b;
}
SymInt floordiv_int(const SymInt& a, const SymInt& b) { return a / b; }
double floordiv_float(double a, double b) {
  return symbolic::float_floor_divide(a, checked_divisor(b));
}
SymInt mod_int(const SymInt& a, const SymInt& b) { return a % b; }
double mod_float(double a, double b) { return symbolic::float_modulo(a, checked_divisor(b)); }
SymInt max_int(const SymInt& a, const SymInt& b) { return sym_max(a, b); }
double max_float(double a, double b) { return a > b ? a : b; }
SymInt min_int(const SymInt& a, const SymInt& b) { return sym_min(a, b); }
double min_float(double a, double b) { return a < b ? a : b; }

SymInt pow_int(const SymInt& a, const SymInt& b) {
  SymInt r = 1;
  const int64_t n = b.expect_int();
  TAEDA_CHECK_VALUE(n >= 0, "pow: a negative exponent of integers gives a float");
  for (int64_t i = 0; i < n; ++i) r = r * a;
  return r;
}
double pow_float(double a, double b) { return std::pow(a, b); }

Value truediv(Span<Value> a) { return a[0].to_double() / checked_divisor(a[1].to_double()); }
Value neg(Span<Value> a) {
  return is_float(a[0]) ? Value(-a[0].to_double()) : boxed(-sym_of(a[0]));
}
Value square_root(Span<Value> a) { return std::sqrt(a[0].to_double()); }
template <symbolic::ExprOp op>
Value math(Span<Value> a) {
  return symbolic::math_function(op).call(a[0].to_double(), a.size() > 1 ? a[1].to_double() : 0);
}
Value not_(Span<Value> a) { return !a[0].to_scalar().to_bool(); }
// Of the bits of integers; truth values stay such.
template <class F>
Value bitwise(Span<Value> a, F&& f) {
  const int64_t bits = f(a[0].to_scalar().to_int(), a[1].to_scalar().to_int());
  return a[0].is<bool>() && a[1].is<bool>() ? Value(bits != 0) : Value(bits);
}
Value and_(Span<Value> a) {
  return bitwise(a, [](int64_t x, int64_t y) { return x & y; });
}
Value or_(Span<Value> a) {
  return bitwise(a, [](int64_t x, int64_t y) { return x | y; });
}
Value xor_(Span<Value> a) {
  return bitwise(a, [](int64_t x, int64_t y) { return x ^ y; });
}
Value choose(Span<Value> a) { return a[0].to_scalar().to_bool() ? a[1] : a[2]; }

// A float as an integer, rounded by `f`; integers stay.
template <double (*F)(double)>
Value rounded(Span<Value> a) {
  if (!is_float(a[0])) return a[0];
  return Scalar(F(a[0].to_double())).to_int();
}
double round_down(double v) { return std::floor(v); }
double round_up(double v) { return std::ceil(v); }
double round_to_zero(double v) { return std::trunc(v); }
double round_to_even(double v) { return std::nearbyint(v); }
Value round(Span<Value> a) {
  if (a.size() < 2) return rounded<round_to_even>(a);
  return is_float(a[0]) ? Value(round_decimal(a[0].to_double(), a[1].to_int())) : a[0];
}

Value to_float(Span<Value> a) { return a[0].to_double(); }
Value to_integer(Span<Value> a) {
  return is_symbolic(a[0]) ? a[0] : Value(a[0].to_scalar().to_int());
}

template <class List>
Value element(const List& list, int64_t i) {
  const auto n = static_cast<int64_t>(list.size());
  TAEDA_CHECK_INDEX(i >= -n && i < n, "list index out of range: got ", i, " for ", n, " elements");
  return Value(list[static_cast<size_t>(i < 0 ? i + n : i)]);
}

Value getitem(Span<Value> a) {
  const int64_t i = a[1].to_int();
  if (a[0].is<std::vector<Tensor>>()) return element(a[0].get<std::vector<Tensor>>(), i);
  if (a[0].is<std::shared_ptr<Value::List>>())
    return element(*a[0].get<std::shared_ptr<Value::List>>(), i);
  if (a[0].is<std::vector<int64_t>>()) return element(a[0].get<std::vector<int64_t>>(), i);
  if (a[0].is<std::vector<SymInt>>()) return element(a[0].get<std::vector<SymInt>>(), i);
  fail(ErrorKind::Type, "getitem takes a list or tuple, got ", a[0].kind_name());
}

// A condition that was taken as true when the graph was made; new graphs call the operator.
Value assert_scalar(Span<Value> a) {
  TAEDA_CHECK(a[0].to_scalar().to_bool(), a[1].get<std::string>());
  return {};
}

constexpr Builtin kBuiltins[] = {
    {"getitem", getitem},
    {"add", number<add_int, add_float>},
    {"sub", number<sub_int, sub_float>},
    {"mul", number<mul_int, mul_float>},
    {"floordiv", number<floordiv_int, floordiv_float>},
    {"mod", number<mod_int, mod_float>},
    {"pow", number<pow_int, pow_float>},
    {"truediv", truediv},
    {"neg", neg},
    {"sym_max", number<max_int, max_float>},
    {"sym_min", number<min_int, min_float>},
    {"sym_sqrt", square_root},
#define TAEDA_MATH_BUILTIN(op, name, arity) {"_sym_" #name, math<symbolic::ExprOp::op>},
    TAEDA_MATH_FUNCTIONS(TAEDA_MATH_BUILTIN)
#undef TAEDA_MATH_BUILTIN
        {"sym_float", to_float},
    {"sym_int", to_integer},
    {"sym_not", not_},
    {"sym_ite", choose},
    {"floor", rounded<round_down>},
    {"ceil", rounded<round_up>},
    {"trunc", rounded<round_to_zero>},
    {"round", round},
    {"eq", truth<eq_int, eq_float>},
    {"ne", truth<ne_int, ne_float>},
    {"lt", truth<lt_int, lt_float>},
    {"le", truth<le_int, le_float>},
    {"gt", truth<gt_int, gt_float>},
    {"ge", truth<ge_int, ge_float>},
    {"and_", and_},
    {"or_", or_},
    {"xor", xor_},
    {"_assert_scalar", assert_scalar, true},
};

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  for (const Span<Builtin> all :
       {all_builtins(), scope_builtins(), mode_builtins(), epilogue_builtins()})
    for (const Builtin& b : all)
      if (name == b.name) return &b;
  return nullptr;
}

const Builtin& get_builtin(std::string_view name) {
  const Builtin* b = find_builtin(name);
  TAEDA_CHECK(b, "no built-in function of graphs is called ", name);
  return *b;
}

Span<Builtin> all_builtins() { return kBuiltins; }

}  // namespace taeda::fx
