// SymExprNode: a number of a shape environment as an operand of SymInt and Scalar.
#pragma once

#include "taeda/fx/shapes/shape_env.h"

namespace taeda::fx {

// The expression that an operation of SymInt is; a difference is a sum.
TAEDA_API ExprOp expr_op(SymOp op);

class TAEDA_API SymExprNode final : public SymNode {
 public:
  SymExprNode(IntrusivePtr<ShapeEnv> env, const Expr* expr) : env_(std::move(env)), expr_(expr) {}
  // The node as one of `env`; an error when it belongs to another.
  static const SymExprNode& of(const SymNode* node, const ShapeEnv& env);
  // Null for nodes of other kinds.
  static const SymExprNode* from(const SymNode* node) {
    return dynamic_cast<const SymExprNode*>(node);
  }

  ShapeEnv& env() const { return *env_; }
  const IntrusivePtr<ShapeEnv>& env_ptr() const { return env_; }
  // The expression as it was made, and simplified by facts learned since.
  const Expr* raw_expr() const { return expr_; }
  const Expr* expr() const { return env_->simplify(expr_); }

  SymKind kind() const override { return expr_->kind; }
  IntrusivePtr<SymNode> binary(SymOp op, int64_t word_of_other, bool is_self_left) override;
  IntrusivePtr<SymNode> root() override;
  IntrusivePtr<SymNode> reciprocal() override;
  int64_t guard_int(const char* file, int line) override;
  bool guard_bool(SymOp op, int64_t word_of_other, bool is_self_left) override;
  bool expect_true() override { return env_->expect_true(expr_); }
  double guard_float(const char* file, int line) override;
  bool guard_truth(const char* file, int line) override;
  std::string text() const override { return text_of(expr()); }

 private:
  const Expr* combined(SymOp op, int64_t word_of_other, bool is_self_left) const;

  IntrusivePtr<ShapeEnv> env_;
  const Expr* expr_;
};

}  // namespace taeda::fx
