// Spelling of index expressions.
#include "taeda/kernel/print_index.h"

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::kernel {

using symbolic::Expr;
using symbolic::ExprOp;

namespace {

// Plain division by a constant where no operand can be negative, the functions of math_index.h
// elsewhere.
std::string division(const Expr* e, const char* plain, const char* function, const std::string& a,
                     const std::string& b) {
  const bool is_plain =
      e->args[0]->range.lo >= 0 && e->args[1]->is_constant() && e->args[1]->range.lo >= 1;
  return is_plain ? str("(", a, " ", plain, " ", b, ")") : str(function, "(", a, ", ", b, ")");
}

}  // namespace

std::string print_index(const Expr* e, FunctionRef<std::string(const Expr*)> name) {
  if (e->is_constant()) return str("(td_long)", e->value.integer);
  if (e->is_symbol()) return name(e);
  std::vector<std::string> args;
  for (const Expr* arg : e->args) args.push_back(print_index(arg, name));
  auto joined = [&](const char* sign) {
    std::string text = "(" + args[0];
    for (size_t i = 1; i < args.size(); ++i) text += sign + args[i];
    return text + ")";
  };
  auto nested = [&](const char* sign) {
    std::string text = args[0];
    for (size_t i = 1; i < args.size(); ++i)
      text = str("(", text, sign, args[i], " ? ", text, " : ", args[i], ")");
    return text;
  };
  switch (e->op) {
    case ExprOp::Add: return joined(" + ");
    case ExprOp::Mul: return joined(" * ");
    case ExprOp::Pow:
    case ExprOp::IntPow: return str("td_pow(", args[0], ", ", args[1], ")");
    case ExprOp::FloorDiv: return division(e, "/", "td_index_quotient", args[0], args[1]);
    case ExprOp::Mod: return division(e, "%", "td_index_remainder", args[0], args[1]);
    case ExprOp::Min: return nested(" < ");
    case ExprOp::Max: return nested(" > ");
    default:
      fail(ErrorKind::Value, "[kernel] no index can be computed from ", symbolic::text_of(e));
  }
}

}  // namespace taeda::kernel
