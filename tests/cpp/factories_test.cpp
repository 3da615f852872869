// New tensors: sizes, options, numbers written down, memory of others, random numbers.
#include <gtest/gtest.h>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

using Doubles = std::vector<double>;

TEST(Factories, OptionsComeOneByOneOrTogether) {
  EXPECT_EQ(zeros({2, 3}, kLong).dtype(), kLong);
  EXPECT_EQ(ones({2}, kMeta).device(), Device(kMeta));
  const Tensor w = randn({2, 2}, dtype(kDouble).requires_grad(true));
  EXPECT_TRUE(w.requires_grad() && w.dtype() == kDouble);
  EXPECT_TRUE(zeros_like(w, requires_grad()).requires_grad());
  EXPECT_EQ(full({2}, 3, kInt).dtype(), kInt);
  EXPECT_EQ(arange(0, 10, 2, kFloat).numel(), 5);
  EXPECT_EQ(w.new_zeros({3}, kInt).dtype(), kInt);
  EXPECT_EQ(eye(2, 3, kFloat).sizes(), IntList({2, 3}));
}

TEST(Factories, ANumberIsASizeAndADimension) {
  EXPECT_EQ(zeros(3).sizes(), IntList({3}));
  EXPECT_EQ(zeros({}).dim(), 0);
  const Tensor x = ones({2, 3});
  EXPECT_EQ(x.view(-1).sizes(), IntList({6}));
  EXPECT_EQ(x.sum(0).sizes(), IntList({3}));
  EXPECT_EQ(x.sum({0, 1}, /*keepdim=*/true).sizes(), IntList({1, 1}));
  EXPECT_EQ(x.amax(1).sizes(), IntList({2}));
  EXPECT_EQ(mean(x, 1, /*keepdim=*/true).sizes(), IntList({2, 1}));
  EXPECT_EQ(x.std({1}).sizes(), IntList({2}));
  // Where an overload takes a number already, it stays that one.
  EXPECT_EQ(x.split(2, 1).size(), 2u);
  EXPECT_EQ(x.split({1, 2}, 1).size(), 2u);
  EXPECT_DOUBLE_EQ(x.norm(1).item<double>(), 6);
}

TEST(Factories, NumbersAreWrittenDown) {
  const Tensor m = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(m.dtype(), kLong);
  EXPECT_EQ(m.sizes(), IntList({2, 2}));
  EXPECT_EQ(values(m), Doubles({1, 2, 3, 4}));
  EXPECT_EQ(tensor({1.5, 2.0}).dtype(), kFloat);
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({1, 2}, kHalf).dtype(), kHalf);
  EXPECT_EQ(tensor(2.5).dim(), 0);
  EXPECT_EQ(tensor(std::vector<int32_t>{1, 2, 3}).dtype(), kLong);
  EXPECT_EQ(tensor(int8_t{1}).dtype(), kChar);
  EXPECT_EQ(tensor({{{1.0}}, {{2.0}}}).sizes(), IntList({2, 1, 1}));
  EXPECT_TRUE(tensor({1.0}, requires_grad()).is_leaf());
}

TEST(Factories, NumbersThatDoNotFitTogether) {
  const auto message_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message_of([] { tensor({{1, 2}, {3}}); }),
            "Expected all sub-lists to have sizes: [2], but got sub-list with sizes: [1]");
  EXPECT_EQ(message_of([] { tensor({{1}, {2.5}}); }),
            "Expected all elements of the tensor to have the same scalar type: Long, but got "
            "element of scalar type: Float");
}

TEST(Factories, MemoryOfOthers) {
  float numbers[] = {1, 2, 3, 4};
  int freed = 0;
  {
    const Tensor x = from_blob(numbers, {2, 2}, [&](void*) { ++freed; });
    x[1][1] = 9;
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(numbers[3], 9);
  EXPECT_EQ(values(from_blob(numbers, {2, 2}, {1, 2})), Doubles({1, 3, 2, 9}));
}

TEST(Factories, TheSeedNamesTheStream) {
  manual_seed(3);
  const Tensor first = rand(4);
  manual_seed(3);
  EXPECT_TRUE(equal(rand(4), first));
  EXPECT_FALSE(equal(rand(4), first));
}

}  // namespace
}  // namespace taeda
