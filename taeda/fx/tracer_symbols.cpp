// Symbolic numbers in a trace: written down as arithmetic on sizes of the graph's tensors.
//
// Nothing watches the program compute with symbols. A number that reaches an operator is an
// expression; its symbols are read off tensors of the graph (sym_size) and the expression becomes
// built-in calls, each once.
#include <algorithm>

#include "taeda/fx/builtins.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/graph/operators.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::fx {
namespace {

// The built-in function of an operation; several operands are taken two at a time.
const char* builtin_name(ExprOp op) {
  if (symbolic::is_math(op)) return symbolic::math_function(op).builtin;
  switch (op) {
    case ExprOp::Add:
    case ExprOp::FloatAdd: return "add";
    case ExprOp::FloatSub: return "sub";
    case ExprOp::Mul:
    case ExprOp::FloatMul: return "mul";
    case ExprOp::Pow:
    case ExprOp::IntPow:
    case ExprOp::FloatPow: return "pow";
    case ExprOp::FloorDiv: return "floordiv";
    case ExprOp::Mod: return "mod";
    case ExprOp::Min: return "sym_min";
    case ExprOp::Max: return "sym_max";
    case ExprOp::FloatDiv:
    case ExprOp::IntTrueDiv: return "truediv";
    case ExprOp::ToFloat: return "sym_float";
    case ExprOp::Sqrt: return "sym_sqrt";
    case ExprOp::FloorToInt: return "floor";
    case ExprOp::CeilToInt: return "ceil";
    case ExprOp::RoundDecimal:
    case ExprOp::RoundToInt: return "round";
    case ExprOp::TruncToInt: return "trunc";
    case ExprOp::Eq: return "eq";
    case ExprOp::Ne: return "ne";
    case ExprOp::Lt: return "lt";
    case ExprOp::Le: return "le";
    case ExprOp::Gt: return "gt";
    case ExprOp::Ge: return "ge";
    case ExprOp::BitAnd:
    case ExprOp::And: return "and_";
    case ExprOp::BitOr:
    case ExprOp::Or: return "or_";
    case ExprOp::BitXor: return "xor";
    case ExprOp::Not: return "sym_not";
    case ExprOp::Where: return "sym_ite";
    default: fail(ErrorKind::Internal, "a constant or symbol is no call");
  }
}

bool is_folded(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Mul || op == ExprOp::Min || op == ExprOp::Max ||
         op == ExprOp::And || op == ExprOp::Or;
}

Value constant_value(const Expr* e) {
  if (e->kind == SymKind::Bool) return Value(e->value.integer != 0);
  if (e->kind == SymKind::Float) return Value(e->value.number);
  return Value(e->value.integer);
}

// Whether a test holds for every symbol of an expression.
template <class Test>
bool for_all_symbols(const Expr* e, const Test& test) {
  if (e->is_constant()) return true;
  if (e->is_symbol()) return test(e);
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const Expr* part) { return for_all_symbols(part, test); });
}

}  // namespace

void Tracer::note_symbol(const SymInt& v, SymbolSource source) {
  if (!v.is_symbolic()) return;
  const SymExprNode* number = SymExprNode::from(v.node());
  if (!number || number->expr()->is_constant()) return;
  const auto [known, is_new] = symbols_.try_emplace(number->expr(), source);
  if (!is_new && known->second.is_erased()) known->second = std::move(source);
}

void Tracer::note_symbols(const Tensor& t, Node& node) {
  using Part = SymbolSource::Part;
  for (int64_t d = 0; d < t.dim(); ++d)
    note_symbol(t.sym_sizes()[static_cast<size_t>(d)], {&node, Part::Size, d});
  for (int64_t d = 0; d < t.dim(); ++d)
    note_symbol(t.sym_strides()[static_cast<size_t>(d)], {&node, Part::Stride, d});
  note_symbol(t.impl()->sym_storage_offset(), {&node, Part::Offset, 0});
}

void Tracer::track(const SymNode& number, Node& node) {
  const SymExprNode* n = SymExprNode::from(&number);
  TAEDA_CHECK(n, "only numbers of a shape environment can be traced");
  if (!n->expr()->is_constant()) symbols_[n->expr()] = {&node, SymbolSource::Part::Itself, 0};
}

Arg Tracer::read_symbol(const SymbolSource& source) {
  switch (source.part) {
    case SymbolSource::Part::Size:
      return Arg(graph_->create(OpCode::CallFunction, ops::sym_size_int,
                                {Arg(*source.node), Arg(source.dim)}, {}, "sym_size_int"));
    case SymbolSource::Part::Stride:
      return Arg(graph_->create(OpCode::CallFunction, ops::sym_stride_int,
                                {Arg(*source.node), Arg(source.dim)}, {}, "sym_stride_int"));
    case SymbolSource::Part::Offset:
      return Arg(graph_->create(OpCode::CallFunction, ops::sym_storage_offset, {Arg(*source.node)},
                                {}, "sym_storage_offset"));
    default: return Arg(*source.node);
  }
}

bool Tracer::is_readable(const Expr* e) const {
  const auto it = symbols_.find(e);
  return it != symbols_.end() && !it->second.is_erased();
}

bool Tracer::knows(const SymNode& number) const {
  const SymExprNode* n = SymExprNode::from(&number);
  return n && (is_readable(n->expr()) || can_write(n->expr(), n->env()));
}

bool Tracer::can_write(const Expr* e, ShapeEnv& env) const {
  // A truth value of data is known as a whole: u0 == 1.
  if (e->is_constant() || is_readable(e)) return true;
  if (e->is_symbol()) return multiple_of(e, env) != nullptr;
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const Expr* part) { return can_write(part, env); });
}

// Records the symbolic number that a node computes.
static void note_value(const Arg& arg, const Expr* e, ShapeEnv& env) {
  if (!arg.node()) return;
  IntrusivePtr<SymNode> number =
      make_intrusive<SymExprNode>(IntrusivePtr<ShapeEnv>::share(&env), e);
  if (e->kind == SymKind::Int)
    arg.node()->set_val(Value(SymInt(std::move(number))));
  else
    arg.node()->set_val(Value(std::move(number)));
}

// -1, and -1*s0.
static bool is_negative(const Expr* e) {
  if (e->kind != SymKind::Int) return false;
  if (e->is_constant()) return e->value.integer < 0;
  return e->op == ExprOp::Mul && is_negative(e->args[0]);
}

Arg Tracer::folded_arg(const Expr* e, ShapeEnv& env) {
  std::vector<const Expr*> parts(e->args.begin(), e->args.end());
  // As one writes it: s0*2, s0 - 1.
  if (e->op == ExprOp::Add || e->op == ExprOp::Mul)
    std::stable_partition(parts.begin(), parts.end(),
                          [](const Expr* p) { return !p->is_constant() && !is_negative(p); });
  Arg result = expression_arg(parts[0], env);
  const bool is_negated = e->op == ExprOp::Mul && parts.size() == 2 && parts[1]->is_constant() &&
                          parts[1]->kind == SymKind::Int && parts[1]->value.integer == -1;
  if (is_negated) return Arg(graph_->call(get_builtin("neg"), {result}));
  const Expr* so_far = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool subtracts = e->op == ExprOp::Add && is_negative(parts[i]);
    const Expr* part = subtracts ? env.pool().negate(parts[i]) : parts[i];
    const Builtin& function = get_builtin(subtracts ? "sub" : builtin_name(e->op));
    result = Arg(graph_->call(function, {result, expression_arg(part, env)}));
    so_far = env.pool().make(e->op, so_far, parts[i]);
    // Every call has its value: a graph may be cut between any two.
    note_value(result, so_far, env);
  }
  return result;
}

const Expr* Tracer::multiple_of(const Expr* symbol, ShapeEnv& env) const {
  const Expr* found = nullptr;
  for (const auto& [expr, source] : symbols_) {
    if (expr->kind != SymKind::Int || source.is_erased()) continue;
    // The oldest, so that the choice does not depend on addresses.
    if (affine_of(env.pool(), expr).form == symbol && (!found || expr->id < found->id))
      found = expr;
  }
  return found;
}

Arg Tracer::divided_arg(const Expr* symbol, const Expr* multiple, ShapeEnv& env) {
  const Affine affine = affine_of(env.pool(), multiple);
  Arg result = expression_arg(multiple, env);
  if (affine.offset != 0) {
    result = Arg(graph_->call(get_builtin("sub"), {result, Arg(Value(affine.offset))}));
    note_value(result, env.pool().subtract(multiple, env.pool().integer(affine.offset)), env);
  }
  if (affine.scale != 1)
    result = Arg(graph_->call(get_builtin("floordiv"), {result, Arg(Value(affine.scale))}));
  note_value(result, symbol, env);
  symbols_[symbol] = {result.node(), SymbolSource::Part::Itself, 0};
  return result;
}

Arg Tracer::expression_arg(const Expr* e, ShapeEnv& env) {
  if (e->is_constant()) return Arg(constant_value(e));
  const auto is_known = [this](const Expr* symbol) { return is_readable(symbol); };
  const auto it = symbols_.find(e);
  // A sum of sizes may itself be the size of a tensor. Symbols are read first, so that the graph
  // shows the sum.
  if (is_readable(e) && (e->is_symbol() || it->second.part == SymbolSource::Part::Itself ||
                         !for_all_symbols(e, is_known))) {
    const bool is_read = it->second.part != SymbolSource::Part::Itself;
    const Arg arg = read_symbol(it->second);
    if (is_read) note_value(arg, e, env);
    it->second = {arg.node(), SymbolSource::Part::Itself, 0};
    return arg;
  }
  if (e->is_symbol()) {
    if (const Expr* multiple = multiple_of(e, env)) return divided_arg(e, multiple, env);
  }
  TAEDA_CHECK(
      !e->is_symbol(), "the symbol ", e->name,
      " is no size of a traced tensor: pass the tensor or number it comes from as an input");
  Arg result;
  if (is_folded(e->op)) {
    result = folded_arg(e, env);
  } else {
    std::vector<Arg> operands;
    for (const Expr* part : e->args) operands.push_back(expression_arg(part, env));
    result = Arg(graph_->call(get_builtin(builtin_name(e->op)), std::move(operands)));
  }
  note_value(result, e, env);
  symbols_[e] = {result.node(), SymbolSource::Part::Itself, 0};
  return result;
}

void Tracer::write_asserts_of(IntrusivePtr<ShapeEnv> env) {
  const size_t first = env ? env->runtime_asserts().size() : 0;
  write_asserts_of(std::move(env), first);
}

void Tracer::write_asserts_of(IntrusivePtr<ShapeEnv> env, size_t first) {
  asserted_ = std::move(env);
  num_seen_asserts_ = first;
}

void Tracer::write_asserts() {
  if (!asserted_) return;
  const std::vector<RuntimeAssert>& all = asserted_->runtime_asserts();
  for (; num_seen_asserts_ < all.size(); ++num_seen_asserts_)
    unwritten_asserts_.push_back(all[num_seen_asserts_]);
  std::erase_if(unwritten_asserts_, [&](const RuntimeAssert& a) {
    if (skips_given_asserts && a.is_given) return true;
    if (!can_write(a.condition, *asserted_)) return false;
    const Arg condition = expression_arg(a.condition, *asserted_);
    std::string message = str("Runtime assertion failed for expression ", text_of(a.condition));
    if (condition.node()) message += str(" on node '", condition.node()->name(), "'");
    graph_->create(OpCode::CallFunction, ops::_assert_scalar,
                   {condition, Arg(Value(std::move(message)))}, {}, "_assert_scalar_default");
    return true;
  });
}

Arg Tracer::symbol_arg(const SymNode& number) {
  const SymExprNode* n = SymExprNode::from(&number);
  TAEDA_CHECK(n, "only numbers of a shape environment can be traced");
  return expression_arg(n->expr(), n->env());
}

}  // namespace taeda::fx
