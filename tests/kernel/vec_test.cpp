// Eager values: masks, tails, uniforms, integer rules, complex values and the reduction tree.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "bodies.h"
#include "taeda/kernel/reduce.h"
#include "taeda/kernel/vec.h"

namespace taeda::kernel::test {

template <class T>
char* bytes(std::vector<T>& v) {
  return reinterpret_cast<char*>(v.data());
}

// All sizes around the step of the unrolled loop; the element behind the end stays untouched.
template <class T>
void check_add_scaled() {
  for (int64_t n = 0; n <= 70; ++n) {
    std::vector<T> a(n), b(n), out(n + 1, T(99));
    for (int64_t i = 0; i < n; ++i) a[i] = T(i), b[i] = T(2 * i);
    T alpha = T(3);
    char* ptrs[] = {bytes(out), bytes(a), bytes(b)};
    run_tile<AddScaled, T>(ptrs, n, &alpha);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], T(7 * i)) << n;
    ASSERT_EQ(out[n], T(99)) << n;
  }
}
TEST(Tile, TailsAndUniforms) {
  check_add_scaled<float>();
  check_add_scaled<double>();
  check_add_scaled<int64_t>();
  check_add_scaled<uint64_t>();
}

template <class T>
void check_masks() {
  for (int64_t n : {1, 3, 16, 37}) {
    std::vector<T> a(n), b(n), out(n);
    std::vector<uint8_t> mask(n + 1, 9);
    for (int64_t i = 0; i < n; ++i) a[i] = T(i % 3), b[i] = T(i % 2);
    char* compare[] = {reinterpret_cast<char*>(mask.data()), bytes(a), bytes(b)};
    run_tile<Lt, T>(compare, n, nullptr);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(mask[i], a[i] < b[i] ? 1 : 0);
    ASSERT_EQ(mask[n], 9);
    mask[0] = 200;  // any non-zero byte is true
    char* choose[] = {bytes(out), reinterpret_cast<char*>(mask.data()), bytes(a), bytes(b)};
    run_tile<Where, T>(choose, n, nullptr);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], mask[i] ? a[i] : b[i]);
  }
}
TEST(Tile, Masks) {
  check_masks<float>();
  check_masks<double>();
  check_masks<int64_t>();
}

TEST(Tile, OutputMayBeAnInput) {
  std::vector<float> a(100);
  for (int i = 0; i < 100; ++i) a[i] = static_cast<float>(i);
  char* ptrs[] = {bytes(a), bytes(a), bytes(a)};
  run_tile<Add, float>(ptrs, 100, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a[i], 2.0f * i);
}

TEST(Tile, ComplexModulusIsReal) {
  std::vector<Complex<double>> z = {{3, 4}, {-5, 12}, {1e300, 1e300}};
  std::vector<double> out(3);
  char* ptrs[] = {bytes(out), bytes(z)};
  run_tile<Modulus, Complex<double>>(ptrs, 3, nullptr);
  EXPECT_EQ(out[0], 5.0 + 12.0);
  EXPECT_EQ(out[1], 13.0 - 60.0);
}

int64_t lane(Vec<int64_t> v) {
  int64_t lanes[Vec<int64_t>::kWidth];
  v.store(lanes);
  return lanes[0];
}
using I = Vec<int64_t>;

TEST(Vec, IntegerDivision) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(lane(div_trunc(I(-7), I(2))), -3);
  EXPECT_EQ(lane(div_floor(I(-7), I(2))), -4);
  EXPECT_EQ(lane(div_floor(I(7), I(-2))), -4);
  EXPECT_EQ(lane(remainder(I(-7), I(3))), 2);
  EXPECT_EQ(lane(fmod(I(-7), I(3))), -1);
  EXPECT_EQ(lane(I(5) / I(0)), 0);
  EXPECT_EQ(lane(remainder(I(5), I(0))), 0);
  EXPECT_EQ(lane(div_floor(I(least), I(-1))), least);
  EXPECT_EQ(lane(remainder(I(least), I(-1))), 0);
  EXPECT_EQ(lane(abs(I(-3))), 3);
}

TEST(Vec, IntegerPowersAndShifts) {
  EXPECT_EQ(lane(pow(I(-3), I(5))), -243);
  EXPECT_EQ(lane(pow(I(-1), I(-3))), -1);
  EXPECT_EQ(lane(pow(I(2), I(-1))), 0);
  EXPECT_EQ(lane(I(1) << I(64)), 0);
  EXPECT_EQ(lane(I(-8) >> I(1)), -4);
  EXPECT_EQ(lane(I(-8) >> I(100)), -1);
}

TEST(Vec, MaximumPropagatesNanAndFmaxDoesNot) {
  using F = Vec<float>;
  auto first = [](F v) {
    float lanes[F::kWidth];
    v.store(lanes);
    return lanes[0];
  };
  EXPECT_TRUE(std::isnan(first(maximum(F(NAN), F(1)))));
  EXPECT_TRUE(std::isnan(first(maximum(F(1), F(NAN)))));
  EXPECT_TRUE(std::isnan(first(minimum(F(1), F(NAN)))));
  EXPECT_EQ(first(fmax(F(NAN), F(1))), 1.0f);
  EXPECT_EQ(first(fmin(F(1), F(NAN))), 1.0f);
  EXPECT_TRUE(std::signbit(first(F(-0.0))));
}

TEST(Vec, ComplexFunctionsAgreeWithTheStandardLibrary) {
  using Z = std::complex<double>;
  auto close = [](td_c128 got, Z expected) {
    return std::abs(Z(got.re, got.im) - expected) <= 2e-15 * std::abs(expected);
  };
  for (int i = 0; i < 3000; ++i) {
    Z z(std::sin(i * 1.1) * (i % 7 + 0.1), std::cos(i * 0.37) * (i % 5 + 0.1));
    td_c128 t = {z.real(), z.imag()};
#define TAEDA_CLOSE(name) EXPECT_TRUE(close(td_##name(t), std::name(z))) << #name << z
    TAEDA_CLOSE(exp);
    TAEDA_CLOSE(log);
    TAEDA_CLOSE(sqrt);
    TAEDA_CLOSE(sin);
    TAEDA_CLOSE(cos);
    TAEDA_CLOSE(tan);
    TAEDA_CLOSE(sinh);
    TAEDA_CLOSE(cosh);
    TAEDA_CLOSE(tanh);
    TAEDA_CLOSE(asin);
    TAEDA_CLOSE(acos);
    TAEDA_CLOSE(atan);
    TAEDA_CLOSE(asinh);
    TAEDA_CLOSE(acosh);
    TAEDA_CLOSE(atanh);
#undef TAEDA_CLOSE
  }
}

// The tree of Note [Reduction tree], written out plainly.
template <class T>
T plain_tree(const std::vector<T>& x) {
  const size_t lanes = 64 / sizeof(T);
  std::vector<T> chunks;
  for (size_t begin = 0; begin == 0 || begin < x.size(); begin += 4096) {
    std::vector<T> lane(lanes, T(0));
    for (size_t i = begin; i < std::min(begin + 4096, x.size()); ++i) {
      lane[(i - begin) % lanes] += x[i];
    }
    for (size_t half = lanes / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    chunks.push_back(lane[0]);
  }
  // Powers of two from the left, as the bits of the count: 7 chunks are (4), (2), (1).
  std::vector<T> blocks;
  size_t at = 0;
  for (size_t size = 1u << 20; size > 0; size /= 2) {
    if (!(chunks.size() & size)) continue;
    std::vector<T> level(chunks.begin() + at, chunks.begin() + at + size);
    while (level.size() > 1) {
      for (size_t i = 0; i < level.size() / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
      level.resize(level.size() / 2);
    }
    blocks.push_back(level[0]);
    at += size;
  }
  T total = blocks.back();
  for (size_t i = blocks.size() - 1; i-- > 0;) total = blocks[i] + total;
  return total;
}
template <class T>
void check_reduction() {
  for (size_t n : {0, 1, 5, 16, 17, 4095, 4096, 4097, 8192, 30000}) {
    std::vector<T> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<T>(std::sin(i * 0.31) * 1000);
    EXPECT_EQ((reduce_line<SumBody, T>(Elements<T>{x.data()}, n)), plain_tree(x)) << n;
  }
}
TEST(Reduce, FollowsTheTree) {
  check_reduction<float>();
  check_reduction<double>();
  check_reduction<int64_t>();
}

}  // namespace taeda::kernel::test
