// Answers the questions of shape rules about symbolic numbers (taeda/core/unbacked.h).
#include "taeda/core/unbacked.h"

#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::fx {
namespace {

const SymExprNode* node_of(const SymInt& v) {
  return v.is_symbolic() ? SymExprNode::from(v.node()) : nullptr;
}

// `a op b` in the environment of whichever is symbolic there; null where neither is.
struct Relation {
  ShapeEnv* env = nullptr;
  const Expr* condition = nullptr;

  Relation(SymOp op, const SymInt& a, const SymInt& b) {
    const SymExprNode* node = node_of(a) ? node_of(a) : node_of(b);
    if (!node) return;
    env = &node->env();
    condition = env->pool().make(expr_op(op), env->expr(a), env->expr(b));
  }
};

std::optional<bool> known_of(SymOp op, const SymInt& a, const SymInt& b) {
  const Relation r(op, a, b);
  if (!r.env) return holds(op, a, b);
  const bool is_hint_asked = !r.env->settings().is_backed_oblivious;
  if (r.condition->has_hint && is_hint_asked) return r.env->evaluate(r.condition);
  // The question whether a size is 0 or 1 is answered with no.
  const bool is_equality = op == SymOp::Eq || op == SymOp::Ne;
  return r.env->facts().decide(r.condition, is_equality);
}

bool likely_of(SymOp op, const SymInt& a, const SymInt& b) {
  if (const auto known = known_of(op, a, b)) return *known;
  const Relation r(op, a, b);
  const auto guess = r.env->likely_value(r.condition);
  return guess && guess->integer != 0;
}

bool expect_of(SymOp op, const SymInt& a, const SymInt& b) {
  const Relation r(op, a, b);
  return r.env ? r.env->expect_true(r.condition) : holds(op, a, b);
}

bool expect_size_of(const SymInt& a) {
  if (!expect_of(SymOp::Ge, a, 0)) return false;
  if (const SymExprNode* node = node_of(a)) node->env().check_is_size(node->expr());
  return true;
}

// Takes what is said of numbers for given, whatever ends the scope.
class GivenFacts {
 public:
  explicit GivenFacts(ShapeEnv& env) : env_(env) { env_.assert_given(true); }
  ~GivenFacts() { env_.assert_given(false); }
  GivenFacts(const GivenFacts&) = delete;

 private:
  ShapeEnv& env_;
};

void learn_of(SymOp op, const SymInt& a, const SymInt& b) {
  const Relation r(op, a, b);
  if (!r.env) return;
  const GivenFacts given(*r.env);
  r.env->expect_true(r.condition);
}

void learn_size_of(const SymInt& a) {
  const SymExprNode* node = node_of(a);
  if (!node) return;
  const GivenFacts given(node->env());
  node->env().check_is_size(node->expr());
}

SymInt new_number_of(const char* function, SymIntList of) {
  IntrusivePtr<ShapeEnv> env;
  for (const SymInt& v : of)
    if (const SymExprNode* node = node_of(v)) env = node->env_ptr();
  TAEDA_CHECK(env, "a number that only data tells needs a shape environment");
  return env->symint(env->unbacked_of(function, of));
}

std::optional<bool> lies_within_of(const SymNode& number, double low, double high) {
  const SymExprNode* node = SymExprNode::from(&number);
  if (!node || !node->expr()->has_hint) return std::nullopt;
  ShapeEnv& env = node->env();
  const Expr* e = node->expr();
  const auto limit = [&](double v) {
    return e->kind == SymKind::Float ? env.pool().constant(ExprValue::of(v))
                                     : env.pool().integer(static_cast<int64_t>(v));
  };
  return env.evaluate(env.pool().make(ExprOp::Le, e, limit(high))) &&
         env.evaluate(env.pool().make(ExprOp::Ge, e, limit(low)));
}

const bool is_registered =
    (set_unbacked_rules({&known_of, &likely_of, &expect_of, &expect_size_of, &learn_of,
                         &learn_size_of, &new_number_of, &lies_within_of}),
     true);

}  // namespace
}  // namespace taeda::fx
