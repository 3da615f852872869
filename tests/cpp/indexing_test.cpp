// Brackets, index and index_put_ with everything that may stand in them.
#include <gtest/gtest.h>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
using Doubles = std::vector<double>;

Tensor counted() { return arange(12, kFloat).view({3, 4}); }

TEST(Indexing, BracketsTakeNumbersAndTensorsOfOne) {
  const Tensor x = counted();
  EXPECT_EQ(values(x[1]), Doubles({4, 5, 6, 7}));
  EXPECT_EQ(x[-1][2].item<float>(), 10);
  EXPECT_EQ(x[tensor(1)][tensor(0)].item<float>(), 4);
  EXPECT_THROW(x[3], Error);
  EXPECT_THROW(x[tensor({1})], Error);
}

TEST(Indexing, BracketsAreWritten) {
  Tensor x = counted();
  const Tensor same = x;
  x[0] = 7;
  x[1] = x[2] * 2;
  EXPECT_EQ(values(same[0]), Doubles({7, 7, 7, 7}));
  EXPECT_EQ(values(same[1]), Doubles({16, 18, 20, 22}));
  x = zeros(1);  // a variable is another tensor from here on
  EXPECT_EQ(same.numel(), 12);
}

TEST(Indexing, IndexTakesWhatBracketsTakeInPython) {
  const Tensor x = counted();
  EXPECT_EQ(values(x.index({Slice(), 1})), Doubles({1, 5, 9}));
  EXPECT_EQ(values(x.index({Slice(1, None), Slice(None, None, 2)})), Doubles({4, 6, 8, 10}));
  EXPECT_EQ(values(x.index({Ellipsis, -1})), Doubles({3, 7, 11}));
  EXPECT_EQ(x.index({None, "...", None}).sizes(), IntList({1, 3, 4, 1}));
  EXPECT_EQ(values(x.index({x > 9})), Doubles({10, 11}));
  EXPECT_EQ(values(x.index({tensor({2, 0}), tensor({1, 1})})), Doubles({9, 1}));
  EXPECT_EQ(x.index({true}).sizes(), IntList({1, 3, 4}));
  const std::vector<TensorIndex> indices = {0, Slice(0, 2)};
  EXPECT_EQ(values(x.index(indices)), Doubles({0, 1}));
}

TEST(Indexing, IndexPutWritesNumbersAndTensors) {
  Tensor x = counted();
  x.index_put_({Slice(), 0}, -1);
  x.index_put_({1, Slice(1, 3)}, tensor({50.0, 60.0}));
  x.index_put_({x > 10}, 0);
  EXPECT_EQ(values(x), Doubles({-1, 1, 2, 3, -1, 0, 0, 7, -1, 9, 10, 0}));
}

TEST(Indexing, MistakesAreErrorsOfTheirKind) {
  const Tensor x = counted();
  const auto kind_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::Internal;
  };
  EXPECT_EQ(kind_of([&] { x.index({0, 0, 0}); }), ErrorKind::Index);
  EXPECT_EQ(kind_of([&] { x.index({5}); }), ErrorKind::Index);
  try {
    x.index({None, 0, 5});
    FAIL() << "there is no column 5";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "index 5 is out of bounds for dimension 1 with size 4");
  }
  EXPECT_EQ(kind_of([&] { x.index({Slice(None, None, -1)}); }), ErrorKind::Value);
}

}  // namespace
}  // namespace taeda
