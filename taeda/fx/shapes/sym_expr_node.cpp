// Arithmetic and questions of SymInt, handed to the shape environment.
#include "taeda/fx/shapes/sym_expr_node.h"

#include "taeda/core/constant_sym_node.h"
#include "taeda/fx/shapes/number_ops.h"

namespace taeda::fx {

ExprOp expr_op(SymOp op) {
  switch (op) {
    case SymOp::Add:
    case SymOp::Sub: return ExprOp::Add;
    case SymOp::Mul: return ExprOp::Mul;
    case SymOp::FloorDiv: return ExprOp::FloorDiv;
    case SymOp::Mod: return ExprOp::Mod;
    case SymOp::Min: return ExprOp::Min;
    case SymOp::Max: return ExprOp::Max;
    case SymOp::Eq: return ExprOp::Eq;
    case SymOp::Ne: return ExprOp::Ne;
    case SymOp::Lt: return ExprOp::Lt;
    case SymOp::Le: return ExprOp::Le;
    case SymOp::Gt: return ExprOp::Gt;
    default: return ExprOp::Ge;
  }
}

namespace {

// Note [SymInt layout]: a word whose top two bits are 10 is a pointer.
const SymNode* node_of_word(int64_t word) {
  const auto bits = static_cast<uint64_t>(word);
  return bits >> 62 == 2 ? reinterpret_cast<const SymNode*>(bits & ~(3ULL << 62)) : nullptr;
}

}  // namespace

const SymExprNode& SymExprNode::of(const SymNode* node, const ShapeEnv& env) {
  const SymExprNode* own = from(node);
  TAEDA_CHECK(own && own->env_.get() == &env,
              "symbolic numbers of different shape environments cannot be combined: got ",
              node->text());
  return *own;
}

const Expr* SymExprNode::combined(SymOp op, int64_t word, bool is_self_left) const {
  ExprPool& pool = env_->pool();
  const SymNode* node = node_of_word(word);
  const Expr* other = node ? of(node, *env_).expr() : pool.integer(word);
  const Expr *a = expr(), *b = other;
  if (!is_self_left) std::swap(a, b);
  if (op == SymOp::Sub) b = pool.negate(b);
  return pool.make(expr_op(op), a, b);
}

IntrusivePtr<SymNode> SymExprNode::binary(SymOp op, int64_t word, bool is_self_left) {
  const Expr* e = combined(op, word, is_self_left);
  if (e->is_constant()) return make_intrusive<ConstantSymNode>(e->value.integer);
  return make_intrusive<SymExprNode>(env_, e);
}

IntrusivePtr<SymNode> SymExprNode::root() {
  ExprPool& pool = env_->pool();
  return make_intrusive<SymExprNode>(env_, pool.make(ExprOp::Sqrt, {as_float(pool, expr())}));
}

IntrusivePtr<SymNode> SymExprNode::reciprocal() {
  ExprPool& pool = env_->pool();
  const Expr* one = pool.constant(ExprValue::of(1.0));
  return make_intrusive<SymExprNode>(env_,
                                     pool.make(ExprOp::FloatDiv, one, as_float(pool, expr())));
}

// Whether the question is if a size is negative: shape rules ask it to refuse such sizes, or to
// find the -1 that is to be inferred.
static bool asks_for_sign(SymOp op, int64_t word, bool is_self_left) {
  if (op == SymOp::Eq || op == SymOp::Ne) return word == -1;
  const bool is_ge_or_lt =
      is_self_left ? op == SymOp::Ge || op == SymOp::Lt : op == SymOp::Le || op == SymOp::Gt;
  return word == 0 && is_ge_or_lt;
}

bool SymExprNode::guard_bool(SymOp op, int64_t word, bool is_self_left) {
  const Expr* question = combined(op, word, is_self_left);
  if (!question->has_hint && asks_for_sign(op, word, is_self_left)) {
    // A number from data that is used as a size is taken as one; a check runs with the program.
    const Expr* is_size = env_->pool().make(ExprOp::Ge, expr_, env_->pool().integer(0));
    if (!env_->decide(question)) env_->expect_true(is_size);
    if (expr_->is_symbol() && env_->decide(is_size).value_or(false)) env_->check_is_size(expr_);
  }
  return env_->evaluate(question, true);
}

int64_t SymExprNode::guard_int(const char*, int) { return env_->specialize(expr_).integer; }
double SymExprNode::guard_float(const char*, int) { return env_->specialize(expr_).as_double(); }
bool SymExprNode::guard_truth(const char*, int) { return env_->specialize(expr_).as_double() != 0; }

}  // namespace taeda::fx
