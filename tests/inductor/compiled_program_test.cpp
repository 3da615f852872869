// taeda::compile: eager's results, no compiling for other sizes, and a version for other kinds.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "taeda/autograd/autocast.h"
#include "taeda/compile.h"
#include "taeda/taeda.h"

namespace taeda {
namespace {

constexpr CompileOptions kInterpreted{Native::Never};

Tensor chain(const Tensor& x, const Tensor& w) { return relu(x.matmul(w) + 1) * 2; }

TEST(Compile, OtherSizesCompileNothing) {
  const auto f = compile(chain, kInterpreted);
  for (const int64_t n : {5, 3, 70}) {
    const Tensor x = randn({n, 4}), w = randn({4, 6});
    EXPECT_TRUE(equal(f(x, w), chain(x, w))) << n;
  }
  EXPECT_EQ(f.num_versions(), 1u);
  EXPECT_EQ(f.texts().size(), 1u);
}

TEST(Compile, OtherKindsAreVersionsOfTheirOwn) {
  const auto f = compile([](const Tensor& x) { return x.exp().sum(-1); }, kInterpreted);
  const Tensor x = randn({4, 5});
  EXPECT_TRUE(equal(f(x), x.exp().sum(-1)));
  EXPECT_TRUE(equal(f(x.to(kDouble)), x.to(kDouble).exp().sum(-1)));
  EXPECT_TRUE(equal(f(x.t()), x.t().exp().sum(-1)));
  EXPECT_TRUE(equal(f(x[0]), x[0].exp().sum(-1)));
  EXPECT_TRUE(equal(f(x.narrow(0, 0, 1)), x.narrow(0, 0, 1).exp().sum(-1)));
  EXPECT_TRUE(equal(f(x.narrow(0, 0, 0)), x.narrow(0, 0, 0).exp().sum(-1)));
  const size_t before = f.num_versions();
  EXPECT_GE(before, 4u);
  EXPECT_EQ(f(randn({9, 5})).sizes(), IntList({9}));
  EXPECT_TRUE(equal(f(x), x.exp().sum(-1)));
  EXPECT_EQ(f.num_versions(), before);
}

TEST(Compile, BranchesOnSizesAreGuarded) {
  const auto by_size = [](const Tensor& x) {
    return x.sym_size(0) > SymInt(8) ? x.sin() : x.cos();
  };
  const auto f = compile(by_size, kInterpreted);
  for (const int64_t n : {4, 20, 6, 9, 8}) {
    const Tensor x = randn({n});
    EXPECT_TRUE(equal(f(x), by_size(x))) << n;
  }
  EXPECT_EQ(f.num_versions(), 2u);
}

TEST(Compile, PlainSizesAreConstants) {
  const auto scaled = [](const Tensor& x) { return x * static_cast<double>(x.size(0)); };
  const auto f = compile(scaled, kInterpreted);
  for (const int64_t n : {4, 20, 4}) EXPECT_TRUE(equal(f(ones({n, 3})), scaled(ones({n, 3}))));
  EXPECT_EQ(f.num_versions(), 2u);
  EXPECT_TRUE(equal(f(ones({20, 7})), scaled(ones({20, 7}))));
  EXPECT_EQ(f.num_versions(), 2u);
}

TEST(Compile, Gradients) {
  const auto f = compile(chain, kInterpreted);
  Tensor w = randn({4, 6}, requires_grad());
  for (const int64_t n : {5, 3}) {
    const Tensor x = randn({n, 4});
    const Tensor have = grad({f(x, w).sum()}, {w})[0], want = grad({chain(x, w).sum()}, {w})[0];
    EXPECT_TRUE(equal(have, want)) << n;
  }
  EXPECT_EQ(f.num_versions(), 1u);
  const NoGradGuard off;
  EXPECT_FALSE(f(randn({2, 4}), w).requires_grad());
  EXPECT_EQ(f.num_versions(), 2u);
}

TEST(Compile, ModesOfTheThread) {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a.mm(b); }, kInterpreted);
  const Tensor a = randn({3, 4}), b = randn({4, 5});
  EXPECT_EQ(f(a, b).dtype(), kFloat);
  const autocast::Region region(DeviceType::CPU);
  EXPECT_EQ(f(a, b).dtype(), kBFloat16);
  EXPECT_TRUE(equal(f(a, b), a.mm(b)));
}

TEST(Compile, OneTensorForTwoArguments) {
  const auto flat = [](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{x.view({-1}), y.view({-1})};
  };
  const auto f = compile(flat, kInterpreted);
  const Tensor one = ones({2, 2}), other = zeros({2, 2});
  for (const auto& [x, y] : {std::pair(one, one), std::pair(one, other), std::pair(other, other)}) {
    const std::vector<Tensor> results = f(x, y);
    EXPECT_TRUE(equal(results[0], x.view({-1})) && equal(results[1], y.view({-1})));
  }
  const auto g = compile(
      [](Tensor x, const Tensor& y) {
        x.add_(1);
        return x * y;
      },
      kInterpreted);
  Tensor both = ones({3});
  EXPECT_TRUE(equal(g(both, both), full({3}, 4)));
  EXPECT_TRUE(equal(g(both, both.view({3})), full({3}, 9)));
  EXPECT_TRUE(equal(g(both, ones({3})), full({3}, 4)));
}

TEST(Compile, WritesToInputs) {
  const auto f = compile(
      [](Tensor x, const Tensor& y) {
        x.mul_(2);
        return x + y;
      },
      kInterpreted);
  Tensor x = ones({3}), y = ones({3});
  EXPECT_TRUE(equal(f(x, y), full({3}, 3)));
  EXPECT_TRUE(equal(x, full({3}, 2)));
  // The same memory twice is another version, not an error and not a wrong answer.
  EXPECT_TRUE(equal(f(x, x), full({3}, 8)));
  EXPECT_TRUE(equal(x, full({3}, 4)));
  EXPECT_EQ(f.num_versions(), 2u);
}

TEST(Compile, FormsOfResults) {
  const Tensor x = randn({3});
  const auto [s, c] =
      compile([](const Tensor& t) { return std::pair(t.sin(), t.cos()); }, kInterpreted)(x);
  EXPECT_TRUE(equal(s, x.sin()) && equal(c, x.cos()));
  const auto list = compile([](const Tensor& t) { return t.split(1); }, kInterpreted)(x);
  EXPECT_EQ(list.size(), 3u);
  const auto [a, b] =
      compile([](const Tensor& t) { return std::array<Tensor, 2>{t * 2, t + 1}; }, kInterpreted)(x);
  EXPECT_TRUE(equal(a, x * 2) && equal(b, x + 1));
}

TEST(Compile, CapturedTensorsAreReadAtEachCall) {
  Tensor scale = ones({});
  const auto f = compile([&](const Tensor& x) { return x * scale; }, kInterpreted);
  EXPECT_TRUE(equal(f(ones({2})), ones({2})));
  scale.fill_(5);
  EXPECT_TRUE(equal(f(ones({2})), full({2}, 5)));
  const Tensor weight = ones({2}, requires_grad());
  const auto g = compile([&](const Tensor& x) { return x * weight; }, kInterpreted);
  EXPECT_THROW(g(ones({2})), Error);
}

TEST(Compile, CompiledFunctionsInsideOfOthers) {
  const auto inner = compile([](const Tensor& x) { return x.sin() * 2; }, kInterpreted);
  const auto outer = compile([&](const Tensor& x) { return inner(x) + 1; }, kInterpreted);
  const Tensor x = randn({5});
  EXPECT_TRUE(equal(outer(x), x.sin() * 2 + 1));
  EXPECT_EQ(inner.num_versions(), 0u);
  const Tensor z = randn({3}, kComplexFloat).conj();
  EXPECT_TRUE(equal(inner(z), z.sin() * 2));
}

TEST(Compile, ReadingValuesIsRefused) {
  const auto f =
      compile([](const Tensor& x) { return x.sum().item<float>() > 0 ? x : -x; }, kInterpreted);
  EXPECT_THROW(f(ones({2})), Error);
  EXPECT_THROW(f(Tensor()), Error);
  EXPECT_EQ(f.num_versions(), 0u);
}

TEST(Compile, ManyVersionsEndAsEager) {
  const auto f = compile([](const Tensor& x) { return x * 2; }, {Native::Never, false});
  for (int64_t n = 2; n < 40; ++n) EXPECT_TRUE(equal(f(ones({n})), full({n}, 2)));
  EXPECT_EQ(f.num_versions(), inductor::CompiledProgram::kMostVersions);
}

TEST(Compile, ThreadsAndNativeKernels) {
  const auto f = compile(chain);
  const Tensor w = randn({4, 6});
  std::vector<std::thread> threads;
  std::array<bool, 4> is_equal{};
  for (size_t i = 0; i < is_equal.size(); ++i)
    threads.emplace_back([&, i] {
      is_equal[i] = true;
      for (int64_t n = 2; n < 30; ++n) {
        const Tensor x = randn({n, 4});
        is_equal[i] = is_equal[i] && equal(f(x, w), chain(x, w));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(is_equal, (std::array<bool, 4>{true, true, true, true}));
  EXPECT_EQ(f.num_versions(), 1u);
  f.wait();
  const Tensor x = randn({7, 4});
  EXPECT_TRUE(equal(f(x, w), chain(x, w)));
}

}  // namespace
}  // namespace taeda
