// Shape environments: what follows from guards, and the checks made of them.
#include <gtest/gtest.h>

#include "taeda/core/unbacked.h"
#include "taeda/fx/shapes/shape_env.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::fx {
namespace {

class SymbolicTest : public testing::Test {
 protected:
  SymInt size(int64_t hint, const char* source = "x", DimDynamic dynamic = DimDynamic::Dynamic,
              DimConstraint constraint = {}) {
    return env->symint(env->create_symbol(hint, source, dynamic, constraint));
  }
  SymInt unbacked() { return env->symint(env->create_unbacked()); }
  static std::string text(const SymInt& v) { return str(v); }
  const Expr* make(ExprOp op, const SymInt& a, const SymInt& b) {
    return env->pool().make(op, env->expr(a), env->expr(b));
  }
  std::optional<bool> decide(ExprOp op, const SymInt& a, const SymInt& b) {
    return env->decide(make(op, a, b));
  }

  IntrusivePtr<ShapeEnv> env = make_intrusive<ShapeEnv>();
  SymInt s0 = size(6), s1 = size(10);
};

TEST_F(SymbolicTest, QuestionsBecomeGuardsOnce) {
  EXPECT_TRUE(s0 > 4);
  EXPECT_TRUE(s0 > 3);
  EXPECT_TRUE(s0 >= 5);
  EXPECT_FALSE(s0 == s1);
  EXPECT_FALSE(s1 == s0);
  ASSERT_EQ(env->guards().size(), 2u);
  EXPECT_EQ(text_of(env->guards()[0].condition), "s0 > 4");
  EXPECT_EQ(text_of(env->guards()[1].condition), "Ne(s0, s1)");
  EXPECT_EQ(env->facts().range(env->expr(s0)), (IntRange{5, IntRange::kMax}));
}

TEST_F(SymbolicTest, FactsAboutDifferencesAreUsed) {
  EXPECT_TRUE(s0 < s1);
  EXPECT_EQ(decide(ExprOp::Le, s0, s1), true);
  EXPECT_EQ(decide(ExprOp::Eq, s0, s1), false);
  EXPECT_EQ(decide(ExprOp::Gt, s1 * 3, s0 * 3), true);
  EXPECT_EQ(decide(ExprOp::Lt, s0 + 1, s1), std::nullopt);
}

TEST_F(SymbolicTest, EqualityUnifiesAndSpecializes) {
  const SymInt s2 = size(6);
  EXPECT_TRUE(s2 == s0);
  EXPECT_EQ(text(s2 * s0), "s0**2");
  EXPECT_EQ(s0.expect_int(), 6);
  EXPECT_EQ(text(s2), "6");
  EXPECT_FALSE((s2 + 1).is_symbolic());
  EXPECT_TRUE(s1 == s0 + 4);
  EXPECT_EQ(text(s1), "10");
}

TEST_F(SymbolicTest, KnownDivisibilityCancels) {
  EXPECT_TRUE(s0 % 2 == 0);
  EXPECT_EQ(text(s0 / 2 * 2), "s0");
  EXPECT_EQ(text(s0 / 2 * s1 * 4 + 1), "2*s0*s1 + 1");
  EXPECT_EQ(env->guards().size(), 1u);
}

TEST_F(SymbolicTest, ZeroAndOneSpecializeAndEqualHintsShare) {
  EXPECT_FALSE(size(1).is_symbolic());
  EXPECT_FALSE(size(0).is_symbolic());
  const SymInt a = size(7, "a", DimDynamic::Duck), b = size(7, "b", DimDynamic::Duck);
  EXPECT_EQ(env->expr(a), env->expr(b));
  EXPECT_NE(env->expr(size(7, "c")), env->expr(a));
}

TEST_F(SymbolicTest, UnbackedSymbolsHaveNoAnswerUntilToldOne) {
  const SymInt u = unbacked();
  EXPECT_THROW(u.expect_int(), DataDependentError);
  EXPECT_THROW(static_cast<void>(u == 0), DataDependentError);
  env->check_is_size(env->expr(u));
  EXPECT_FALSE(u == 1);  // a shape rule asks
  EXPECT_THROW(env->evaluate(make(ExprOp::Eq, u, 1)), DataDependentError);
  EXPECT_TRUE(env->expect_true(make(ExprOp::Le, u, s0)));
  EXPECT_EQ(decide(ExprOp::Gt, u, s0), false);
  ASSERT_EQ(env->runtime_asserts().size(), 2u);
  EXPECT_EQ(text_of(env->runtime_asserts()[1].condition), "u0 <= s0");
  EXPECT_TRUE(env->expect_true(make(ExprOp::Eq, u, s0)));
  EXPECT_EQ(text(u + 1), "s0 + 1");
}

TEST_F(SymbolicTest, ShapeRulesTakeUnbackedSizesForLarge) {
  const SymInt u = unbacked();
  env->check_is_size(env->expr(u));
  EXPECT_TRUE(sym_max(u, 1) == u);
  EXPECT_FALSE(u * s0 == 0);
  EXPECT_TRUE(u * s0 >= s0);
  EXPECT_EQ(env->guards().size(), 0u);
}

TEST_F(SymbolicTest, QuestionsMayStayOpen) {
  const SymInt u = unbacked();
  EXPECT_EQ(known(SymOp::Eq, u, 7), std::nullopt);
  EXPECT_FALSE(is_known(SymOp::Eq, u, 7));
  env->constrain_range(env->expr(u), {0, 5});
  EXPECT_EQ(known(SymOp::Eq, u, 7), false);
  EXPECT_EQ(known(SymOp::Lt, u, 7), true);
  EXPECT_EQ(known(SymOp::Lt, 2, 7), true);
}

TEST_F(SymbolicTest, ContradictionsAreErrors) {
  const SymInt u = unbacked();
  env->constrain_range(env->expr(u), {3, 5});
  EXPECT_THROW(env->constrain_range(env->expr(u), {6, 9}), Error);
  EXPECT_THROW(env->constrain_range(env->expr(u), {9, 6}), Error);
}

TEST_F(SymbolicTest, GeometryIsExpressedBySizes) {
  const auto g = env->create_geometry({4, 5, 3}, {15, 3, 1}, 0, "L['x']");
  EXPECT_EQ(str(SymIntList(g.sizes)), "[s2, s3, s4]");
  EXPECT_EQ(str(SymIntList(g.strides)), "[s3*s4, s4, 1]");
  EXPECT_EQ(str(g.offset), "0");
  const auto t = env->create_geometry({4, 5}, {1, 9}, 0, "L['y']");
  EXPECT_EQ(str(SymIntList(t.strides)), "[1, s5]");
}

TEST_F(SymbolicTest, GuardsReadAsPythonOverSources) {
  const SymInt a = size(4, "L['a'].size()[0]"), b = size(4, "L['b'].size()[0]");
  const SymInt c = size(8, "L['c'].size()[0]");
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(c % 2 == 0);
  EXPECT_TRUE(c <= 100);
  const auto set = env->guard_set({{"L['a'].size()[0]", env->expr(a)},
                                   {"L['b'].size()[0]", env->expr(b)},
                                   {"L['c'].size()[0]", env->expr(c)},
                                   {"L['c'].stride()[0]", env->expr(1)}});
  const std::vector<std::string> expected = {"L['b'].size()[0] == L['a'].size()[0]",
                                             "L['c'].stride()[0] == 1", "L['c'].size()[0] % 2 == 0",
                                             "2 <= L['a'].size()[0]",
                                             "2 <= L['c'].size()[0] and L['c'].size()[0] <= 100"};
  EXPECT_EQ(set.texts(), expected);
  const std::vector<std::string> said_by_no_symbol = {"L['c'].size()[0] % 2 == 0",
                                                      "L['c'].size()[0] <= 100"};
  EXPECT_EQ(set.short_texts(), said_by_no_symbol);
  EXPECT_EQ(set.first_failure({5, 5, 10, 1}), std::nullopt);
  EXPECT_EQ(set.first_failure({5, 6, 10, 1}), 0u);
  EXPECT_EQ(set.first_failure({5, 5, 9, 1}), 2u);
  EXPECT_EQ(set.first_failure({1, 1, 10, 1}), 3u);
  EXPECT_EQ(set.first_failure({5, 5, 102, 1}), 4u);
}

TEST_F(SymbolicTest, ReplacedSymbolsKeepTheirRange) {
  const SymInt s2 = size(4);
  EXPECT_TRUE(s2 == s1 - s0);
  const auto set =
      env->guard_set({{"a", env->expr(s0)}, {"b", env->expr(s1)}, {"c", env->expr(s2)}});
  EXPECT_EQ(set.first_failure({5, 8, 3}), std::nullopt);
  EXPECT_EQ(set.texts().at(*set.first_failure({5, 6, 1})), "2 <= c");
}

TEST_F(SymbolicTest, FormsThatBecomeSymbolsSpecializeThem) {
  const SymInt s2 = size(6);
  EXPECT_TRUE(sym_min(s0 + s2 - 1, sym_max(s0, s2)) == 6);
  EXPECT_TRUE(s2 == s0);
  EXPECT_EQ(text(s0), "6");
  EXPECT_TRUE(env->facts().replaced_symbols().count(env->expr(s0)));
}

TEST_F(SymbolicTest, GuardsThatDivideByZeroFail) {
  EXPECT_TRUE(s1 / (s0 - 3) == 3);
  const auto set = env->guard_set({{"a", env->expr(s0)}, {"b", env->expr(s1)}});
  EXPECT_EQ(set.first_failure({6, 10}), std::nullopt);
  EXPECT_EQ(set.first_failure({3, 10}), 0u);
}

TEST_F(SymbolicTest, ConstraintsThatTheProgramBreaksAreNamed) {
  const SymInt a =
      size(4, "L['a'].size()[0]", DimDynamic::Dynamic, {DimConstraint::Kind::Relaxed, {}});
  EXPECT_TRUE(env->guard_set({{"a", env->expr(a)}}).equalities.empty());
  EXPECT_EQ(a.expect_int(), 4);
  try {
    env->guard_set({{"a", env->expr(a)}});
    FAIL();
  } catch (const ConstraintViolation& e) {
    EXPECT_NE(e.message().find("You marked L['a'].size()[0] as dynamic but your code specialized "
                               "it to be a constant (4)"),
              std::string::npos)
        << e.message();
  }
  EXPECT_THROW(size(20, "b", DimDynamic::Dynamic, {DimConstraint::Kind::Strict, {2, 10}}),
               ConstraintViolation);
}

TEST_F(SymbolicTest, StrictRangesMustPassEveryGuard) {
  const SymInt a = size(8, "a", DimDynamic::Dynamic, {DimConstraint::Kind::Strict, {4, 64}});
  EXPECT_TRUE(a >= 3);
  EXPECT_NO_THROW(env->guard_set({{"a", env->expr(a)}}));
  EXPECT_TRUE(a <= 32);
  EXPECT_THROW(env->guard_set({{"a", env->expr(a)}}), ConstraintViolation);
}

TEST_F(SymbolicTest, FrozenEnvironmentsAnswerWithoutRecording) {
  env->freeze();
  EXPECT_TRUE(s0 > 4);
  EXPECT_EQ(s1.expect_int(), 10);
  EXPECT_TRUE(env->guards().empty());
  EXPECT_TRUE(s1.is_symbolic());
  EXPECT_EQ(text(s1), "s1");
}

TEST_F(SymbolicTest, EnvironmentsDoNotMix) {
  auto other = make_intrusive<ShapeEnv>();
  const SymInt foreign = other->symint(other->create_symbol(3, "y"));
  EXPECT_THROW(s0 + foreign, Error);
}

}  // namespace
}  // namespace taeda::fx
