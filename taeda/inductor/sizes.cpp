// Translating expressions between pools.
#include "taeda/inductor/sizes.h"

#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::inductor {

using symbolic::Expr;

const Expr* SizeExpressions::operator()(const SymInt& value) {
  if (!value.is_symbolic()) return pool_.integer(value.expect_int());
  const fx::SymExprNode* node = fx::SymExprNode::from(value.node());
  TAEDA_CHECK(node, "a symbolic number that belongs to no shape environment cannot be compiled");
  return translate(node->expr());
}

const Expr* SizeExpressions::translate(const Expr* e) {
  const auto found = known_.find(e);
  if (found != known_.end()) return found->second;
  const Expr* made;
  if (e->is_symbol()) {
    std::optional<symbolic::ExprValue> hint;
    if (e->has_hint) hint = e->value;
    made = pool_.symbol(e->name, e->kind, e->range, hint);
    symbols_.push_back(made);
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
