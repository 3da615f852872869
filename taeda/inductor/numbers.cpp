// Floats of a graph as values of kernels.
#include "taeda/inductor/numbers.h"

#include <algorithm>

namespace taeda::inductor {

using kernel::Sym;
using kernel::Type;
using symbolic::Expr;
using symbolic::ExprOp;

bool is_computed(const Expr* number) {
  switch (number->op) {
    case ExprOp::Constant:
    case ExprOp::Symbol: return number->kind != SymKind::Bool;
    case ExprOp::FloorDiv:
    case ExprOp::Mod:
      if (number->kind == SymKind::Float || number->args[0]->kind == SymKind::Float ||
          number->args[1]->kind == SymKind::Float)
        return false;
      break;
    case ExprOp::Min:
    case ExprOp::Max:
      if (number->kind == SymKind::Float) return false;
      break;
    case ExprOp::Add:
    case ExprOp::Mul:
    case ExprOp::Pow:
    case ExprOp::IntPow:
    case ExprOp::FloatAdd:
    case ExprOp::FloatSub:
    case ExprOp::FloatMul:
    case ExprOp::FloatDiv:
    case ExprOp::IntTrueDiv:
    case ExprOp::ToFloat:
    case ExprOp::Sqrt: break;
    // Kernels compute integers as indices, which are made of sizes.
    case ExprOp::FloorToInt:
    case ExprOp::CeilToInt:
    case ExprOp::RoundToInt:
    case ExprOp::TruncToInt:
      for (const Expr* symbol : symbolic::symbols_of(number))
        if (symbol->kind == SymKind::Float) return false;
      break;
    default: return false;
  }
  return std::all_of(number->args.begin(), number->args.end(), is_computed);
}

Sym emit_number(kernel::Emitter& e, const Expr* number, FunctionRef<Sym(const Expr*)> input) {
  const auto part = [&](size_t i) {
    return e.cast(emit_number(e, number->args[i], input), Type::F64);
  };
  if (number->kind != SymKind::Float) return e.index(number);
  switch (number->op) {
    case ExprOp::Constant: return e.constant(Scalar(number->value.number), Type::F64);
    case ExprOp::Symbol: return input(number);
    case ExprOp::FloatAdd: return part(0) + part(1);
    case ExprOp::FloatSub: return part(0) - part(1);
    case ExprOp::FloatMul: return part(0) * part(1);
    case ExprOp::FloatDiv:
    case ExprOp::IntTrueDiv: return part(0) / part(1);
    case ExprOp::ToFloat: return part(0);
    case ExprOp::Sqrt: return sqrt(part(0));
    default: fail(ErrorKind::NotImplemented, "no kernel computes ", symbolic::text_of(number));
  }
}

}  // namespace taeda::inductor
