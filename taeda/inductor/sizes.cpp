// Translating expressions between pools.
#include "taeda/inductor/sizes.h"

#include <algorithm>

#include "taeda/base/str.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::inductor {

using symbolic::Expr;

static const Expr* expr_of(const SymNode& value) {
  const fx::SymExprNode* node = fx::SymExprNode::from(&value);
  TAEDA_CHECK(node, "a symbolic number that belongs to no shape environment cannot be compiled");
  return node->expr();
}

const Expr* SizeExpressions::operator()(const SymInt& value) {
  return value.is_symbolic() ? in_runs(*value.node()) : pool_.integer(value.expect_int());
}

const Expr* SizeExpressions::in_kernels(const SymNode& value) {
  const Expr* made = translate(expr_of(value));
  // An integer of floats is a parameter of kernels.
  return made->kind == SymKind::Float ? made : with_floats(made);
}

const Expr* SizeExpressions::in_runs(const SymNode& value) {
  return with_floats(translate(expr_of(value)));
}

const Expr* SizeExpressions::float_input(const SymNode& value) {
  const Expr* e = expr_of(value);
  std::optional<symbolic::ExprValue> hint;
  if (e->has_hint) hint = e->value;
  const std::string name = e->is_symbol() ? e->name : str("float", known_.size());
  return known_[e] = pool_.symbol(name, SymKind::Float, {}, hint);
}

const Expr* SizeExpressions::with_floats(const Expr* made) {
  for (const Expr* symbol : symbolic::symbols_of(made))
    if (symbol->kind == SymKind::Float &&
        std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end())
      symbols_.push_back(symbol);
  return made;
}

const Expr* SizeExpressions::translate(const Expr* e) {
  const auto found = known_.find(e);
  if (found != known_.end()) return found->second;
  const Expr* made;
  if (e->is_symbol()) {
    std::optional<symbolic::ExprValue> hint;
    if (e->has_hint) hint = e->value;
    made = pool_.symbol(e->name, e->kind, e->range, hint);
    if (made->kind != SymKind::Float) symbols_.push_back(made);
  } else if (e->is_constant()) {
    made = pool_.constant(e->value);
  } else {
    symbolic::ExprArgs args;
    for (const Expr* arg : e->args) args.push_back(translate(arg));
    made = pool_.make(e->op, Span<const Expr*>(args.data(), args.size()));
  }
  return known_[e] = made;
}

}  // namespace taeda::inductor
