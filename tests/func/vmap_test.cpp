// vmap: dimensions of arguments and results, randomness, chunks, and what it refuses.
#include "taeda/func/vmap.h"

#include "tests/func/values.h"

namespace taeda::func {
namespace {

Tensor weighted(const Tensor& a, const Tensor& b) { return a.mul(b).sum(); }
const Tensor& same(const Tensor& t) { return t; }
// [[0, 1, 2], [3, 4, 5]]
Tensor matrix() { return vec({0, 1, 2, 3, 4, 5}).view({2, 3}); }

TEST(Vmap, OverRowsAndColumns) {
  const auto sum = [](const Tensor& t) { return t.sum(); };
  expect_near(vmap(sum)(matrix()), {3, 12});
  expect_near(vmap(sum, 1)(matrix()), {3, 5, 7});
  expect_near(vmap(sum, -1)(matrix()), {3, 5, 7});
  expect_near(vmap(sum, {1})(matrix()), {3, 5, 7});
}

TEST(Vmap, ArgumentsWithDimensionsOfTheirOwn) {
  const Tensor v = vec({1, 10});
  expect_near(vmap(weighted, {1, std::nullopt})(matrix(), v), {30, 41, 52});
  expect_near(vmap(weighted)(matrix(), matrix()), {5, 50});
  expect_near(vmap(weighted, {0, 1})(matrix(), matrix().t().contiguous()), {5, 50});
}

TEST(Vmap, NestedDimensions) {
  const auto f = [](const std::vector<Tensor>& x, double scale) {
    return weighted(x[0], x[1]).mul(Scalar(scale));
  };
  const std::vector<Tensor> x{matrix(), vec({1, 1, 1})};
  expect_near(vmap(f, {{0, std::nullopt}, std::nullopt})(x, 2.0), {6, 24});
}

TEST(Vmap, ResultsAtTheirDimensions) {
  const auto f = [](const Tensor& row) { return std::tuple(row.mul(2), row.sum()); };
  const auto [twice, sums] = vmap(f, 0, {1, 0})(matrix());
  EXPECT_EQ(twice.sizes(), IntList({3, 2}));
  expect_near(twice.select(1, 1), {6, 8, 10});
  expect_near(sums, {3, 12});
  EXPECT_EQ(vmap(same, 0, -1)(matrix()).sizes(), IntList({3, 2}));
  EXPECT_EQ(vmap(same, 0, {1})(matrix()).sizes(), IntList({3, 2}));
}

TEST(Vmap, ResultsThatAreTheSameForAll) {
  const Tensor y = vec({7, 8, 9});
  const auto f = [&](const Tensor&) { return y; };
  EXPECT_EQ(vmap(f)(matrix()).sizes(), IntList({2, 3}));
  EXPECT_EQ(vmap(f, 0, 1)(matrix()).sizes(), IntList({3, 2}));
  EXPECT_TRUE(vmap(f, 0, std::nullopt)(matrix()).is_same(y));
}

TEST(Vmap, RandomnessIsAChoice) {
  const auto f = [](const Tensor& t) { return taeda::rand_like(t); };
  const Tensor x = vec({0, 0, 0}).view({3, 1});
  expect_error(ErrorKind::Runtime, "randomness", [&] { vmap(f)(x); });
  const Doubles all = values(vmap(f, 0, 0, Randomness::Different)(x));
  EXPECT_TRUE(all[0] != all[1] && all[1] != all[2]);
  const Doubles once = values(vmap(f, 0, 0, Randomness::Same)(x));
  EXPECT_EQ(once, Doubles(3, once[0]));
}

TEST(Vmap, ChunksShareOneDraw) {
  const auto f = [](const Tensor& t) { return taeda::rand_like(t); };
  const Tensor x = vec({0, 0, 0}).view({3, 1});
  const Doubles once = values(vmap(f, 0, 0, Randomness::Same, 1)(x));
  EXPECT_EQ(once, Doubles(3, once[0]));
  const Doubles all = values(vmap(f, 0, 0, Randomness::Different, 1)(x));
  EXPECT_TRUE(all[0] != all[1] && all[1] != all[2]);
}

TEST(Vmap, RunsInChunks) {
  const Tensor x = vec({1, 2, 3, 4, 5}).view({5, 1});
  std::vector<int64_t> sizes;
  const auto f = [&](const Tensor& t) {
    sizes.push_back(dispatch::top_level().batch_size.expect_int());
    return std::pair(t.mul(t), t.neg());
  };
  const auto [squares, negatives] = vmap(f, 0, {0, 1}, Randomness::Error, 2)(x);
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(squares.sizes(), IntList({5, 1}));
  expect_near(squares, {1, 4, 9, 16, 25});
  EXPECT_EQ(negatives.sizes(), IntList({1, 5}));
  expect_near(negatives, {-1, -2, -3, -4, -5});
}

TEST(Vmap, Refuses) {
  const Tensor x = matrix();
  const auto value_error = [](const char* text, const std::function<void()>& body) {
    expect_error(ErrorKind::Value, text, body);
  };
  value_error("vmap(f)(<inputs>): got no inputs", [] { vmap([] { return Tensor(); })(); });
  value_error(
      "vmap(f, in_dims=2, ...)(<inputs>): Got in_dim=2 for some input, but that input is a Tensor "
      "of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2.",
      [&] { vmap(same, 2)(x); });
  value_error(
      "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
      "(0, None, 1) but inputs has structure (*, *).",
      [&] { vmap(weighted, {0, std::nullopt, 1})(x, x); });
  value_error("got sizes [2, 3] for the mapped dimension", [&] { vmap(weighted, {0, 1})(x, x); });
  value_error("vmap: Expected at least one Tensor to vmap over",
              [&] { vmap(same, std::nullopt)(x); });
  value_error("can not return a BatchedTensor when out_dim is None",
              [&] { vmap(same, 0, std::nullopt)(x); });
  value_error("out_dims is not compatible with the structure of `outputs`",
              [&] { vmap(same, 0, {0, 0})(x); });
  value_error("chunk_size should be None or greater than 0. (got 0)",
              [&] { vmap(same, 0, 0, Randomness::Error, 0); });
  expect_error(ErrorKind::Runtime, "It looks like you're calling .item() on a Tensor",
               [&] { vmap([](const Tensor& t) { return t.mul(t.sum().item()); })(x); });
}

}  // namespace
}  // namespace taeda::func
