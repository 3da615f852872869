// Built-in functions on symbolic numbers: expressions, and no guard.
#include <unordered_map>

#include "taeda/fx/builtins.h"
#include "taeda/fx/shapes/number_ops.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::fx {
namespace {

using Exprs = Span<const Expr*>;
using Rule = const Expr* (*)(ExprPool& pool, Exprs args);

template <NumberOp op>
const Expr* binary(ExprPool& pool, Exprs a) {
  return apply_number_op(pool, op, a[0], a[1]);
}
template <ExprOp rounding>
const Expr* rounded(ExprPool& pool, Exprs a) {
  return as_integer(pool, rounding, a[0]);
}
const Expr* round(ExprPool& pool, Exprs a) {
  if (a.size() < 2) return as_integer(pool, ExprOp::RoundToInt, a[0]);
  return pool.make(ExprOp::RoundDecimal, as_float(pool, a[0]), a[1]);
}
const Expr* negative(ExprPool& pool, Exprs a) { return negated(pool, a[0]); }
const Expr* to_float(ExprPool& pool, Exprs a) { return as_float(pool, a[0]); }
const Expr* square_root(ExprPool& pool, Exprs a) {
  return pool.make(ExprOp::Sqrt, {as_float(pool, a[0])});
}
template <ExprOp op>
const Expr* math(ExprPool& pool, Exprs a) {
  std::vector<const Expr*> floats;
  for (const Expr* one : a) floats.push_back(as_float(pool, one));
  return pool.make(op, floats);
}
const Expr* logical_not(ExprPool& pool, Exprs a) { return pool.logical_not(a[0]); }
const Expr* choose(ExprPool& pool, Exprs a) {
  const bool is_float = a[1]->kind == SymKind::Float || a[2]->kind == SymKind::Float;
  const auto as_kind = is_float ? &as_float : &as_number;
  return pool.where(a[0], as_kind(pool, a[1]), as_kind(pool, a[2]));
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> all{
      {"add", binary<NumberOp::Add>},
      {"sub", binary<NumberOp::Sub>},
      {"mul", binary<NumberOp::Mul>},
      {"floordiv", binary<NumberOp::FloorDiv>},
      {"mod", binary<NumberOp::Mod>},
      {"pow", binary<NumberOp::Pow>},
      {"truediv", binary<NumberOp::TrueDiv>},
      {"sym_max", binary<NumberOp::Max>},
      {"sym_min", binary<NumberOp::Min>},
      {"eq", binary<NumberOp::Eq>},
      {"ne", binary<NumberOp::Ne>},
      {"lt", binary<NumberOp::Lt>},
      {"le", binary<NumberOp::Le>},
      {"gt", binary<NumberOp::Gt>},
      {"ge", binary<NumberOp::Ge>},
      {"and_", binary<NumberOp::And>},
      {"or_", binary<NumberOp::Or>},
      {"xor", binary<NumberOp::Xor>},
      {"neg", negative},
      {"sym_float", to_float},
      {"sym_int", rounded<ExprOp::TruncToInt>},
      {"sym_sqrt", square_root},
#define TAEDA_MATH_RULE(op, name, arity) {"_sym_" #name, math<ExprOp::op>},
      TAEDA_MATH_FUNCTIONS(TAEDA_MATH_RULE)
#undef TAEDA_MATH_RULE
          {"sym_not", logical_not},
      {"sym_ite", choose},
      {"floor", rounded<ExprOp::FloorToInt>},
      {"ceil", rounded<ExprOp::CeilToInt>},
      {"trunc", rounded<ExprOp::TruncToInt>},
      {"round", round},
  };
  return all;
}

const SymExprNode* symbol_of(const Value& v) {
  if (v.is<SymInt>() && v.get<SymInt>().is_symbolic())
    return SymExprNode::from(v.get<SymInt>().node());
  return v.is<IntrusivePtr<SymNode>>() ? SymExprNode::from(v.get<IntrusivePtr<SymNode>>().get())
                                       : nullptr;
}

const Expr* constant(ExprPool& pool, const Value& v) {
  if (v.is<bool>()) return pool.truth(v.get<bool>());
  if (v.is<double>()) return pool.constant(ExprValue::of(v.get<double>()));
  return pool.integer(v.to_int());
}

Value number(const IntrusivePtr<ShapeEnv>& env, const Expr* e) {
  if (e->is_constant()) {
    if (e->kind == SymKind::Bool) return Value(e->value.integer != 0);
    return e->kind == SymKind::Float ? Value(e->value.number) : Value(e->value.integer);
  }
  IntrusivePtr<SymNode> node = make_intrusive<SymExprNode>(env, e);
  return e->kind == SymKind::Int ? Value(SymInt(std::move(node))) : Value(std::move(node));
}

}  // namespace

Value call_builtin(const Builtin& function, Span<Value> args) {
  const SymExprNode* symbol = nullptr;
  bool are_numbers = true;
  for (const Value& v : args) {
    if (!symbol) symbol = symbol_of(v);
    are_numbers &= v.is_scalar();
  }
  if (!symbol || !are_numbers) return function.run(args);
  const auto rule = rules().find(function.name);
  if (rule == rules().end()) return function.run(args);
  const IntrusivePtr<ShapeEnv>& env = symbol->env_ptr();
  std::vector<const Expr*> operands;
  for (const Value& v : args) {
    const SymExprNode* own = symbol_of(v);
    operands.push_back(own ? SymExprNode::of(own, *env).expr() : constant(env->pool(), v));
  }
  const Expr* result = rule->second(env->pool(), operands);
  TAEDA_CHECK_TYPE(result, function.name, ": no such operation on these kinds of numbers");
  return number(env, env->simplify(result));
}

}  // namespace taeda::fx
