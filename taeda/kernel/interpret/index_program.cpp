// Sums of products, and a stack machine for other index expressions.
#include "taeda/kernel/interpret/index_program.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "taeda/base/error.h"
#include "taeda/kernel/math.h"
#include "taeda/symbolic/float_division.h"

namespace taeda::kernel {

using symbolic::Expr;
using symbolic::ExprOp;

namespace {

constexpr size_t kMaxDepth = 64;

int64_t bits(double v) { return std::bit_cast<int64_t>(v); }
double number(int64_t v) { return std::bit_cast<double>(v); }

int64_t apply(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
    case ExprOp::Add:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ExprOp::Mul:
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case ExprOp::Pow:
    case ExprOp::IntPow: return td_pow(a, b);
    case ExprOp::FloorDiv: return td_div_floor(a, b);
    case ExprOp::Mod: return td_remainder(a, b);
    case ExprOp::Min: return std::min(a, b);
    case ExprOp::BitAnd: return a & b;
    case ExprOp::BitOr: return a | b;
    case ExprOp::BitXor: return a ^ b;
    // Floats are their bits.
    case ExprOp::IntTrueDiv: return bits(static_cast<double>(a) / static_cast<double>(b));
    case ExprOp::FloatAdd: return bits(number(a) + number(b));
    case ExprOp::FloatSub: return bits(number(a) - number(b));
    case ExprOp::FloatMul: return bits(number(a) * number(b));
    case ExprOp::FloatDiv: return bits(number(a) / number(b));
    case ExprOp::FloatPow: return bits(std::pow(number(a), number(b)));
    default: return std::max(a, b);
  }
}

int64_t apply_to_floats(ExprOp op, int64_t a, int64_t b) {
  if (symbolic::is_math(op)) return bits(symbolic::math_function(op).call(number(a), number(b)));
  switch (op) {
    case ExprOp::FloorDiv: return bits(symbolic::float_floor_divide(number(a), number(b)));
    case ExprOp::Mod: return bits(symbolic::float_modulo(number(a), number(b)));
    case ExprOp::Min: return bits(std::min(number(a), number(b)));
    case ExprOp::Max: return bits(std::max(number(a), number(b)));
    default: return apply(op, a, b);
  }
}

int64_t apply(ExprOp op, int64_t a) {
  if (symbolic::is_math(op)) return bits(symbolic::math_function(op).call(number(a), 0));
  switch (op) {
    case ExprOp::ToFloat: return bits(static_cast<double>(a));
    case ExprOp::Sqrt: return bits(std::sqrt(number(a)));
    case ExprOp::FloorToInt: return static_cast<int64_t>(std::floor(number(a)));
    case ExprOp::CeilToInt: return static_cast<int64_t>(std::ceil(number(a)));
    case ExprOp::RoundToInt: return static_cast<int64_t>(std::nearbyint(number(a)));
    default: return static_cast<int64_t>(number(a));  // TruncToInt
  }
}

}  // namespace

IndexProgram::IndexProgram(const Expr* e, FunctionRef<int(const Expr*)> place_of) {
  if (add_terms(e, place_of)) return;
  terms_.clear();
  constant_ = 0;
  add(e, place_of);
  // Values that wait for their operation at the same time.
  size_t depth = 0, most = 0;
  for (const Step& step : steps_) {
    const bool is_leaf = step.op == ExprOp::Constant || step.op == ExprOp::Symbol;
    if (!is_leaf) depth -= static_cast<size_t>(std::abs(step.value));
    most = std::max(most, ++depth);
  }
  TAEDA_CHECK_VALUE(most < kMaxDepth,
                    "[kernel] an index is too long to be interpreted: ", symbolic::text_of(e));
}

// False where the expression is no sum of products.
bool IndexProgram::add_terms(const Expr* e, FunctionRef<int(const Expr*)> place_of) {
  if (e->op == ExprOp::Add) {
    for (const Expr* arg : e->args)
      if (!add_terms(arg, place_of)) return false;
    return true;
  }
  if (e->op == ExprOp::Constant) {
    constant_ += e->value.integer;
    return true;
  }
  Term term{1, {-1, -1, -1, -1}};
  size_t count = 0;
  auto multiply = [&](const Expr* one) {
    if (one->op == ExprOp::Constant) {
      term.factor *= one->value.integer;
      return true;
    }
    if (one->op != ExprOp::Symbol || count == 4) return false;
    term.places[count++] = place_of(one);
    return true;
  };
  if (e->op == ExprOp::Mul) {
    for (const Expr* arg : e->args)
      if (!multiply(arg)) return false;
  } else if (!multiply(e)) {
    return false;
  }
  terms_.push_back(term);
  return true;
}

void IndexProgram::add(const Expr* e, FunctionRef<int(const Expr*)> place_of) {
  if (symbolic::is_math(e->op)) {
    for (const Expr* arg : e->args) add(arg, place_of);
    steps_.push_back({e->op, e->args.size() == 1 ? 1 : -2});
    return;
  }
  switch (e->op) {
    case ExprOp::Constant:
      steps_.push_back(
          {e->op, e->kind == SymKind::Float ? bits(e->value.number) : e->value.integer});
      return;
    case ExprOp::Symbol:
      TAEDA_CHECK_VALUE(e->kind != SymKind::Bool, "[kernel] an index of ", symbolic::text_of(e));
      steps_.push_back({e->op, place_of(e)});
      return;
    case ExprOp::Add:
    case ExprOp::Mul:
    case ExprOp::Pow:
    case ExprOp::IntPow:
    case ExprOp::FloorDiv:
    case ExprOp::Mod:
    case ExprOp::Min:
    case ExprOp::Max:
    case ExprOp::BitAnd:
    case ExprOp::BitOr:
    case ExprOp::BitXor:
    case ExprOp::IntTrueDiv:
    case ExprOp::FloatAdd:
    case ExprOp::FloatSub:
    case ExprOp::FloatMul:
    case ExprOp::FloatDiv:
    case ExprOp::FloatPow:
      // Two operands at a time: few values wait, however long a sum is.
      for (size_t i = 0; i < e->args.size(); ++i) {
        add(e->args[i], place_of);
        if (i > 0) steps_.push_back({e->op, e->args[0]->kind == SymKind::Float ? -2 : 2});
      }
      return;
    case ExprOp::ToFloat:
    case ExprOp::Sqrt:
    case ExprOp::FloorToInt:
    case ExprOp::CeilToInt:
    case ExprOp::RoundToInt:
    case ExprOp::TruncToInt:
      add(e->args[0], place_of);
      steps_.push_back({e->op, 1});
      return;
    default:
      fail(ErrorKind::Value, "[kernel] no index can be computed from ", symbolic::text_of(e));
  }
}

int64_t IndexProgram::operator()(const int64_t* symbols) const {
  if (!steps_.empty()) return run_steps(symbols);
  uint64_t sum = static_cast<uint64_t>(constant_);
  for (const Term& term : terms_) {
    uint64_t product = static_cast<uint64_t>(term.factor);
    for (int i = 0; i < 4 && term.places[i] >= 0; ++i)
      product *= static_cast<uint64_t>(symbols[term.places[i]]);
    sum += product;
  }
  return static_cast<int64_t>(sum);
}

int64_t IndexProgram::run_steps(const int64_t* symbols) const {
  int64_t stack[kMaxDepth];
  size_t depth = 0;
  for (const Step& step : steps_) {
    if (step.op == ExprOp::Constant) {
      stack[depth++] = step.value;
    } else if (step.op == ExprOp::Symbol) {
      stack[depth++] = symbols[step.value];
    } else {
      depth -= static_cast<size_t>(std::abs(step.value));
      int64_t value = stack[depth];
      if (step.value == 1) value = apply(step.op, value);
      if (step.value < 0) value = apply_to_floats(step.op, value, stack[depth + 1]);
      for (int64_t i = 1; i < step.value; ++i) value = apply(step.op, value, stack[depth + i]);
      stack[depth++] = value;
    }
  }
  return stack[0];
}

}  // namespace taeda::kernel
