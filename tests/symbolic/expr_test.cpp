// Expressions: normal forms, rules of construction, values and what leaves the integers.
#include "taeda/symbolic/expr.h"

#include <gtest/gtest.h>

#include <functional>

namespace taeda::symbolic {
namespace {

class ExprTest : public testing::Test {
 protected:
  const Expr* size(const char* name) {
    return pool.symbol(name, SymKind::Int, {2, IntRange::kMax}, std::nullopt);
  }
  const Expr* n(int64_t v) { return pool.integer(v); }
  const Expr* add(const Expr* a, const Expr* b) { return pool.add(a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return pool.mul(a, b); }
  const Expr* div(const Expr* a, const Expr* b) { return pool.floor_div(a, b); }
  const Expr* mod(const Expr* a, const Expr* b) { return pool.modulo(a, b); }
  std::string relation(ExprOp op, const Expr* a, const Expr* b) {
    return text_of(pool.make(op, a, b));
  }
  ErrorKind error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::Internal;
  }

  ExprPool pool;
  const Expr *s0 = size("s0"), *s1 = size("s1");
};

TEST_F(ExprTest, SumsOfProductsAreOneObject) {
  EXPECT_EQ(text_of(add(mul(s0, n(2)), s0)), "3*s0");
  EXPECT_EQ(text_of(mul(add(s0, n(1)), add(s1, n(-1)))), "s0*s1 - s0 + s1 - 1");
  EXPECT_EQ(text_of(mul(mul(s0, s0), n(2))), "2*s0**2");
  EXPECT_EQ(text_of(pool.subtract(add(s1, n(1)), s1)), "1");
  EXPECT_TRUE(pool.subtract(s0, s0)->is_constant(0));
  EXPECT_EQ(mul(add(s0, s1), n(2)), add(mul(s1, n(2)), mul(s0, n(2))));
  EXPECT_EQ(text_of(pool.negate(s0)), "-s0");
  EXPECT_EQ(text_of(pool.subtract(n(7), s0)), "7 - s0");
}

TEST_F(ExprTest, PowersOfTermsAreTerms) {
  const auto power = [&](const Expr* a, int64_t e) { return pool.make(ExprOp::IntPow, a, n(e)); };
  EXPECT_EQ(power(s0, 65), mul(power(s0, 64), s0));
  EXPECT_EQ(power(mul(s0, s1), 3), mul(power(s0, 3), power(s1, 3)));
  EXPECT_EQ(text_of(power(add(s0, n(1)), 2)), "s0**2 + 2*s0 + 1");
  EXPECT_EQ(text_of(power(s0, -1)), "s0**(-1)");
}

TEST_F(ExprTest, DivisionsSimplify) {
  EXPECT_EQ(text_of(div(s0, n(2))), "(s0//2)");
  EXPECT_EQ(text_of(div(add(mul(s0, n(4)), n(1)), n(2))), "2*s0");
  EXPECT_EQ(text_of(add(div(add(s0, n(1)), n(2)), n(1))), "((s0 + 1)//2) + 1");
  EXPECT_EQ(text_of(div(add(s0, n(4)), n(2))), "(s0//2) + 2");
  EXPECT_EQ(text_of(div(add(mul(s0, s1), s0), add(s1, n(1)))), "s0");
  EXPECT_EQ(text_of(div(mul(s0, n(6)), n(4))), "((3*s0)//2)");
  EXPECT_EQ(text_of(div(div(s0, n(2)), n(3))), "(s0//6)");
  EXPECT_EQ(text_of(mod(s0, n(2))), "Mod(s0, 2)");
  EXPECT_EQ(text_of(mod(mul(s0, n(2)), n(2))), "0");
  EXPECT_EQ(text_of(mod(add(mul(s0, s1), n(1)), s1)), "1");
  EXPECT_EQ(text_of(pool.ceil_div(s0, n(4))), "((s0 + 3)//4)");
  EXPECT_EQ(error_of([&] { div(s0, n(0)); }), ErrorKind::ZeroDivision);
}

TEST_F(ExprTest, ExtremaDropWhatCannotWin) {
  const auto max = [&](const Expr* a, const Expr* b) { return pool.make(ExprOp::Max, a, b); };
  EXPECT_EQ(text_of(max(s0, n(1))), "s0");
  EXPECT_EQ(text_of(max(s0, n(5))), "Max(5, s0)");
  EXPECT_EQ(text_of(max(max(s0, s1), add(s0, n(1)))), "Max(s1, s0 + 1)");
  EXPECT_EQ(max(max(s0, s1), n(9)), max(n(9), max(s1, s0)));
  EXPECT_EQ(max(max(s0, s1), max(s0, n(9))), max(n(9), max(s1, s0)));
  EXPECT_EQ(text_of(pool.make(ExprOp::Min, s0, add(s0, s1))), "s0");
}

TEST_F(ExprTest, RelationsFollowFromRanges) {
  EXPECT_EQ(relation(ExprOp::Gt, add(s0, n(1)), s0), "True");
  EXPECT_EQ(relation(ExprOp::Eq, s0, n(1)), "False");
  EXPECT_EQ(relation(ExprOp::Eq, mul(s0, n(2)), n(3)), "False");
  EXPECT_EQ(relation(ExprOp::Ge, mul(s0, s1), n(4)), "True");
  EXPECT_EQ(relation(ExprOp::Lt, mod(s0, n(4)), n(4)), "True");
  EXPECT_EQ(relation(ExprOp::Eq, s0, n(3)), "Eq(s0, 3)");
  EXPECT_EQ(relation(ExprOp::Gt, s0, n(3)), "s0 > 3");
}

TEST_F(ExprTest, RelationsOfTruthValuesPrintWithoutChains) {
  const Expr* less = pool.make(ExprOp::Lt, s0, n(9));
  const Expr* same = pool.make(ExprOp::Eq, less, pool.make(ExprOp::Lt, s1, n(9)));
  EXPECT_EQ(python_text_of(same, {}), "(s0 < 9) == (s1 < 9)");
  EXPECT_EQ(text_of(same), "Eq(s0 < 9, s1 < 9)");
}

TEST_F(ExprTest, NamesOfSymbolsCanBeReplaced) {
  const Expr* e = add(mul(s0, n(2)), div(s1, n(3)));
  EXPECT_EQ(text_of(e, {{s0, "x.size()[0]"}}), "2*x.size()[0] + (s1//3)");
  EXPECT_EQ(python_text_of(e, {{s1, "y"}}), "2*s0 + y//3");
}

TEST_F(ExprTest, TheLeastIntegerIsNone) {
  const int64_t least = IntRange::kMin, most = IntRange::kMax;
  const auto overflow = [&](const std::function<void()>& f) {
    EXPECT_EQ(error_of(f), ErrorKind::Overflow);
  };
  overflow([&] { pool.integer(least); });
  overflow([&] { add(n(-most), n(-1)); });
  overflow([&] { add(mul(n(-most), s0), pool.negate(s0)); });
  overflow([&] { mul(n(most), add(s0, s0)); });
  // Where a processor traps.
  const ExprValue values[] = {ExprValue::of(least), ExprValue::of(int64_t{-1})};
  overflow([&] { apply_op(ExprOp::FloorDiv, values); });
  overflow([&] { apply_op(ExprOp::Mod, values); });
}

TEST_F(ExprTest, PowersOfOnesEndAtOnce) {
  const auto power = [&](int64_t a, int64_t e) {
    return pool.make(ExprOp::IntPow, n(a), n(e))->value.integer;
  };
  EXPECT_EQ(power(1, 1000000000000), 1);
  EXPECT_EQ(power(-1, 1000000000000), 1);
  EXPECT_EQ(power(-1, 1000000000001), -1);
  EXPECT_EQ(power(0, 1000000000000), 0);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(error_of([&] { power(2, 63); }), ErrorKind::Overflow);
}

}  // namespace
}  // namespace taeda::symbolic
