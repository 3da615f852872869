// A number in the place of one of several lists of integers.
#include <gtest/gtest.h>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

bool same(const Tensor& a, const Tensor& b) { return equal(a, b); }

TEST(NumbersForLists, EachListOfAPooling) {
  const Tensor x = rand({1, 2, 8, 8});
  EXPECT_TRUE(same(max_pool2d(x, 2), max_pool2d(x, {2, 2})));
  EXPECT_TRUE(same(max_pool2d(x, 2, 1), max_pool2d(x, {2, 2}, {1, 1})));
  EXPECT_TRUE(same(max_pool2d(x, {2, 2}, 1, 1), max_pool2d(x, {2, 2}, {1, 1}, {1, 1})));
  EXPECT_TRUE(same(avg_pool2d(x, 2, {1, 2}), avg_pool2d(x, {2, 2}, {1, 2})));
}

TEST(NumbersForLists, ZeroIsNoTextOfAConvolution) {
  const Tensor x = rand({1, 2, 8, 8}), w = rand({3, 2, 3, 3}), b = rand({3});
  const Tensor plain = conv2d(x, w, b);
  EXPECT_TRUE(same(conv2d(x, w, b, 1, 0), plain));
  EXPECT_TRUE(same(conv2d(x, w, b, {1, 1}, 0), plain));
  EXPECT_TRUE(same(conv2d(x, w, {}, 2, 1), conv2d(x, w, {}, {2, 2}, {1, 1})));
  const std::vector<int64_t> stride{2, 1};
  EXPECT_TRUE(same(conv2d(x, w, b, stride, 1), conv2d(x, w, b, {2, 1}, {1, 1})));
}

TEST(NumbersForLists, TextsStayTexts) {
  const Tensor x = rand({1, 2, 8, 8}), w = rand({3, 2, 3, 3}), b = rand({3});
  const Tensor wide = conv2d(x, w, b, {1, 1}, "same", {2, 2});
  EXPECT_TRUE(same(conv2d(x, w, b, 1, "same", 2), wide));
  EXPECT_TRUE(same(conv2d(x, w, b, {1, 1}, "same", 2), wide));
}

TEST(NumbersForLists, OfListsWithoutALength) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_EQ(values<int64_t>(roll(x, 1, 1)), (std::vector<int64_t>{2, 0, 1, 5, 3, 4}));
}

}  // namespace
}  // namespace taeda
