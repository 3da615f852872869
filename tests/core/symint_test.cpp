// SymInt: the plain integers that one word holds, and arithmetic that leaves them.
#include "taeda/core/symint.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "taeda/base/error.h"
#include "taeda/core/constant_sym_node.h"

using namespace taeda;

namespace {

constexpr int64_t kSmallest = -(int64_t{1} << 62);

template <class F>
ErrorKind kind_thrown(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::Internal;
}

template <class F>
void expect_overflow(F&& f) {
  EXPECT_EQ(kind_thrown(f), ErrorKind::Runtime);
}

// An integer of 64 bits whose place symbolic ones take.
template <class F>
void expect_not_representable(F&& f) {
  EXPECT_EQ(kind_thrown(f), ErrorKind::Runtime);
}

TEST(SymInt, HoldsIntegersDownToMinusTwoToThePowerOf62) {
  EXPECT_EQ(SymInt(kSmallest).expect_int(), kSmallest);
  EXPECT_EQ(SymInt(INT64_MAX).expect_int(), INT64_MAX);
  expect_not_representable([] { static_cast<void>(SymInt(kSmallest - 1)); });
  expect_not_representable([] { static_cast<void>(SymInt(INT64_MIN)); });
}

TEST(SymInt, ArithmeticThatLeavesTheRangeThrows) {
  expect_overflow([] { static_cast<void>(SymInt(INT64_MAX) + SymInt(1)); });
  expect_overflow([] { static_cast<void>(SymInt(INT64_MAX) + SymInt(INT64_MAX)); });
  expect_overflow([] { static_cast<void>(SymInt(INT64_MAX) - SymInt(-1)); });
  expect_not_representable([] { static_cast<void>(SymInt(kSmallest) - SymInt(1)); });
  expect_overflow([] { static_cast<void>(SymInt(INT64_MAX) * SymInt(2)); });
}

// Below the range that one word holds, an integer stands as a node.
TEST(SymInt, LesserIntegersStandAsNodes) {
  const SymInt least = ConstantSymNode::as_symint(INT64_MIN);
  EXPECT_TRUE(least.is_symbolic());
  EXPECT_EQ(least.expect_int(), INT64_MIN);
  EXPECT_FALSE(ConstantSymNode::as_symint(kSmallest).is_symbolic());
  EXPECT_TRUE(least < SymInt(0) && SymInt(-1) > least && least == least);
  EXPECT_EQ((least + SymInt(5)).expect_int(), INT64_MIN + 5);
  EXPECT_EQ((SymInt(-1) - least).expect_int(), INT64_MAX);
  EXPECT_EQ((least / SymInt(2)).expect_int(), INT64_MIN / 2);
  EXPECT_EQ(sym_max(least, least + SymInt(1)).expect_int(), INT64_MIN + 1);
  EXPECT_EQ((least % SymInt(10)).expect_int(), 2);
  expect_overflow([&] { least - SymInt(1); });
  expect_overflow([&] { least / SymInt(-1); });
}

}  // namespace
