// Expressions over the symbols of shapes: immutable, interned, simplified when they are made.
//
// Integer sums and products are kept as sums of products, so equal polynomials are one object and
// comparing pointers compares values: s0*2 + s0 is 3*s0. Rules that hold for every value of the
// symbols (within the ranges they were made with) apply at construction; what a shape environment
// learns later is applied by it. Each expression carries its range and its value under the hints,
// so both cost nothing to ask for.
//
// The integers are those of int64 but for its least, which ranges take for minus infinity: each has
// a negative, and what leaves them is an Overflow.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "taeda/base/export.h"
#include "taeda/base/small_vector.h"
#include "taeda/core/symint.h"
#include "taeda/symbolic/int_range.h"
#include "taeda/symbolic/math_functions.h"

namespace taeda::symbolic {

enum class ExprOp : uint8_t {
  Constant,
  Symbol,
  // Integers; Pow's exponent in a product is a constant of at least 2, IntPow's is any expression.
  Add,
  Mul,
  Pow,
  IntPow,
  FloorDiv,
  Mod,
  Min,
  Max,
  BitAnd,
  BitOr,
  BitXor,
  // Floats; never reordered, as rounding depends on the order.
  FloatAdd,
  FloatSub,
  FloatMul,
  FloatDiv,
  FloatPow,
  IntTrueDiv,
  ToFloat,
  RoundDecimal,  // a float and the number of its digits
  Sqrt,
#define TAEDA_MATH_OP(op, name, arity) op,
  TAEDA_MATH_FUNCTIONS(TAEDA_MATH_OP)
#undef TAEDA_MATH_OP
  // Floats to integers.
  FloorToInt,
  CeilToInt,
  RoundToInt,
  TruncToInt,
  // Truth values.
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  // A condition and two values.
  Where,
};

// In the order of their operations.
TAEDA_API Span<MathFunction> math_functions();
inline bool is_math(ExprOp op) { return op > ExprOp::Sqrt && op < ExprOp::FloorToInt; }
inline ExprOp math_op(size_t i) {
  return static_cast<ExprOp>(static_cast<size_t>(ExprOp::Sqrt) + 1 + i);
}
inline const MathFunction& math_function(ExprOp op) {
  return math_functions()[static_cast<size_t>(op) - static_cast<size_t>(ExprOp::Sqrt) - 1];
}

struct ExprValue {
  SymKind kind = SymKind::Int;
  union {
    int64_t integer = 0;  // truth values are 0 and 1
    double number;
  };
  static ExprValue of(int64_t v) {
    ExprValue r;
    r.integer = v;
    return r;
  }
  static ExprValue of(double v) {
    ExprValue r;
    r.kind = SymKind::Float;
    r.number = v;
    return r;
  }
  static ExprValue of(bool v) {
    ExprValue r;
    r.kind = SymKind::Bool;
    r.integer = v;
    return r;
  }
  double as_double() const {
    return kind == SymKind::Float ? number : static_cast<double>(integer);
  }
  friend bool operator==(const ExprValue& a, const ExprValue& b) {
    return a.kind == b.kind && a.integer == b.integer;
  }
};

class Expr;
using ExprArgs = SmallVector<const Expr*, 3>;

class Expr {
 public:
  ExprOp op = ExprOp::Constant;
  SymKind kind = SymKind::Int;
  bool has_hint = true;  // no symbol in it lacks a value
  uint32_t id = 0;       // order of creation
  uint32_t size = 1;     // nodes, counted as a tree; saturates
  uint64_t hash = 0;
  ExprValue value;  // a constant, or the value under the hints where there are any
  IntRange range;   // of integers, from the ranges the symbols were made with
  ExprArgs args;
  std::string name;  // of a symbol

  bool is_constant() const { return op == ExprOp::Constant; }
  bool is_constant(int64_t v) const { return is_constant() && value.integer == v; }
  bool is_symbol() const { return op == ExprOp::Symbol; }
  bool is_relation() const { return op >= ExprOp::Eq && op <= ExprOp::Ge; }
  bool is_true() const { return is_constant() && kind == SymKind::Bool && value.integer; }
};

// Makes and owns expressions; those of one pool belong together. One thread at a time.
class TAEDA_API ExprPool {
 public:
  ExprPool() = default;
  ExprPool(const ExprPool&) = delete;

  const Expr* symbol(std::string name, SymKind kind, IntRange range, std::optional<ExprValue> hint);
  const Expr* constant(ExprValue v);
  const Expr* integer(int64_t v) { return constant(ExprValue::of(v)); }
  const Expr* truth(bool v) { return constant(ExprValue::of(v)); }

  // Any operation on operands that fit it; equal results are one object.
  const Expr* make(ExprOp op, Span<const Expr*> args);
  const Expr* make(ExprOp op, const Expr* a, const Expr* b);

  const Expr* add(const Expr* a, const Expr* b) { return make(ExprOp::Add, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return make(ExprOp::Mul, a, b); }
  const Expr* negate(const Expr* a) { return mul(integer(-1), a); }
  const Expr* subtract(const Expr* a, const Expr* b) { return add(a, negate(b)); }
  const Expr* floor_div(const Expr* a, const Expr* b) { return make(ExprOp::FloorDiv, a, b); }
  // For a positive divisor.
  const Expr* ceil_div(const Expr* a, const Expr* b) {
    return floor_div(subtract(add(a, b), integer(1)), b);
  }
  const Expr* modulo(const Expr* a, const Expr* b) { return make(ExprOp::Mod, a, b); }
  const Expr* logical_not(const Expr* a) { return make(ExprOp::Not, {a}); }
  const Expr* where(const Expr* c, const Expr* a, const Expr* b) {
    return make(ExprOp::Where, {c, a, b});
  }
  const Expr* to_float(const Expr* a) { return make(ExprOp::ToFloat, {a}); }

  // The interned node of exactly these parts; for the rules of construction.
  const Expr* intern(ExprOp op, SymKind kind, ExprArgs args);

 private:
  struct Same {
    bool operator()(const Expr* a, const Expr* b) const;
  };
  struct Hash {
    size_t operator()(const Expr* e) const { return e->hash; }
  };
  struct Pair {
    ExprOp op;
    const Expr *a, *b;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    size_t operator()(const Pair& p) const;
  };
  const Expr* keep(Expr fresh);

  std::deque<Expr> all_;
  std::unordered_set<const Expr*, Hash, Same> interned_;
  std::unordered_map<Pair, const Expr*, PairHash> made_;
};

// ---- reading expressions ----
// Symbols without an entry keep their name.
using SymbolNames = std::unordered_map<const Expr*, std::string>;
// PyTorch's text: 2*s0 + 1, (s0//2), Mod(s0, 2), Eq(s0, 3). See parse.h for the way back.
TAEDA_API std::string text_of(const Expr* e);
TAEDA_API std::string text_of(const Expr* e, const SymbolNames& names);
// A Python expression.
TAEDA_API std::string python_text_of(const Expr* e, const SymbolNames& names);
// The value of an operation on values; ZeroDivision and Overflow as Python and SymInt have them.
TAEDA_API ExprValue apply_op(ExprOp op, Span<ExprValue> args);
using Assignment = std::unordered_map<const Expr*, ExprValue>;
// Nothing when a symbol has no value.
TAEDA_API std::optional<ExprValue> evaluate(const Expr* e, const Assignment& values);
// Rebuilds with symbols (or any parts) replaced.
using Replacements = std::unordered_map<const Expr*, const Expr*>;
TAEDA_API const Expr* substitute(ExprPool& pool, const Expr* e, const Replacements& replacements);
// The range of an operation on ranges; the whole line for operations without a rule.
TAEDA_API IntRange range_of_op(const Expr* e, Span<IntRange> args);
// Symbols in order of creation.
TAEDA_API std::vector<const Expr*> symbols_of(const Expr* e);
// Python's round() of a float to a number of decimal digits.
TAEDA_API double round_decimal(double v, int64_t digits);
TAEDA_API ExprOp negated_relation(ExprOp op);
// Of the operands exchanged: a < b is b > a.
TAEDA_API ExprOp mirrored_relation(ExprOp op);

}  // namespace taeda::symbolic
