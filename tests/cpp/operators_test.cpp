// Operators of C++ on tensors and numbers, on either side.
#include <gtest/gtest.h>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

using Doubles = std::vector<double>;
using Bools = std::vector<bool>;

TEST(Operators, NumbersMayStandOnEitherSide) {
  const Tensor x = tensor({1.0, 2.0, 4.0});
  EXPECT_EQ(values(2 * x), Doubles({2, 4, 8}));
  EXPECT_EQ(values(x + 1), Doubles({2, 3, 5}));
  EXPECT_EQ(values(1 - x), Doubles({0, -1, -3}));
  EXPECT_EQ(values(4 / x), Doubles({4, 2, 1}));
  EXPECT_EQ(values(x % 3), Doubles({1, 2, 1}));
  EXPECT_EQ(values(-x), Doubles({-1, -2, -4}));
  EXPECT_EQ(values(x * x - x / 2), Doubles({0.5, 3, 14}));
}

TEST(Operators, ANumberDoesNotWidenTheType) {
  EXPECT_EQ((tensor({1.0}) * 2.5).dtype(), kFloat);
  EXPECT_EQ((3 + tensor({1, 2}, kInt)).dtype(), kInt);
  EXPECT_EQ((tensor({1, 2}) / 2).dtype(), kFloat);
}

TEST(Operators, ComparisonsGiveTensors) {
  const Tensor x = tensor({1, 2, 3});
  EXPECT_EQ(values<bool>(x > 1), Bools({false, true, true}));
  EXPECT_EQ(values<bool>(2 >= x), Bools({true, true, false}));
  EXPECT_EQ(values<bool>(x == 2), Bools({false, true, false}));
  EXPECT_EQ(values<bool>(2 != x), Bools({true, false, true}));
  EXPECT_EQ(values<bool>(x < tensor({2, 2, 2})), Bools({true, false, false}));
  EXPECT_EQ((x <= 2).dtype(), kBool);
}

TEST(Operators, BitsAndTruthValues) {
  const Tensor x = tensor({1, 2, 3});
  EXPECT_EQ(values<bool>((x > 1) & ~(x == 3)), Bools({false, true, false}));
  EXPECT_EQ(values<bool>((x == 1) | (x == 3)), Bools({true, false, true}));
  EXPECT_EQ(values<bool>((x > 1) ^ (x > 2)), Bools({false, true, false}));
  EXPECT_EQ(values<bool>(!(x > 1)), Bools({true, false, false}));
  EXPECT_EQ(values<int64_t>(x & 1), std::vector<int64_t>({1, 0, 1}));
}

TEST(Operators, AssignmentsWriteTheTensor) {
  Tensor x = tensor({1, 2, 3});
  const Tensor same = x;
  x += 1;
  x *= tensor({1, 1, 2});
  EXPECT_EQ(values(same), Doubles({2, 3, 8}));
  Tensor mask = x > 2;
  mask &= x < 8;
  EXPECT_EQ(values<bool>(mask), Bools({false, true, false}));
}

TEST(Operators, WritesGoThroughConstHandles) {
  const Tensor x = zeros(3);
  x.add_(2).index_put_({0}, 5);
  EXPECT_EQ(values(x), Doubles({5, 2, 2}));
}

TEST(Operators, TheOneElementIsRead) {
  EXPECT_EQ((tensor({1.5, 2.0}).sum() * 2).item<float>(), 7.0f);
  EXPECT_TRUE((tensor({1, 1}) == 1).all().item<bool>());
  EXPECT_TRUE(tensor(3).is_nonzero());
  try {
    zeros(2).item<float>();
    FAIL() << "two elements are not one";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Runtime);
    EXPECT_STREQ(error.what(), "a Tensor with 2 elements cannot be converted to Scalar");
  }
}

}  // namespace
}  // namespace taeda
