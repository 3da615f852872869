// Random fills against the scalar definition of the stream, whatever the split, and their moments.
#include "taeda/backends/cpu/random/random_fill.h"

#include "taeda/base/parallel.h"
#include "taeda/core/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace taeda::cpu {
namespace {

constexpr uint64_t kSeed = 0x123456789abcdef0u;
// Counters cross 2^32 inside the tests' runs.
constexpr uint64_t kOffset = 0xfffffff0u;

uint32_t word32(int64_t i) { return philox(kSeed, kOffset + static_cast<uint64_t>(i / 4))[i % 4]; }
uint64_t word64(int64_t i) {
  const PhiloxBlock block = philox(kSeed, kOffset + static_cast<uint64_t>(i / 2));
  return block[i % 2 * 2] | uint64_t{block[i % 2 * 2 + 1]} << 32;
}

// Fills `count` elements in one call, in uneven pieces and in parallel; all must agree.
template <class T, class Fill>
std::vector<T> fill_every_way(int64_t count, Fill fill) {
  std::vector<T> whole(static_cast<size_t>(count)), pieces(whole), parallel(whole);
  fill(whole.data(), 0, count);
  for (int64_t first = 0, step = 1; first < count; first += step, step = step % 150 + 1) {
    step = std::min(step, count - first);
    fill(pieces.data() + first, first, step);
  }
  set_num_threads(3);
  parallel_random_fill(count,
                       [&](int64_t first, int64_t n) { fill(parallel.data() + first, first, n); });
  EXPECT_EQ(std::memcmp(whole.data(), pieces.data(), whole.size() * sizeof(T)), 0);
  EXPECT_EQ(std::memcmp(whole.data(), parallel.data(), whole.size() * sizeof(T)), 0);
  return whole;
}

TEST(RandomFill, WordsAreTheStream) {
  const auto got = fill_every_way<uint32_t>(5003, [](uint32_t* out, int64_t first, int64_t n) {
    fill_words(out, first, n, kSeed, kOffset);
  });
  for (int64_t i = 0; i < 5003; ++i) ASSERT_EQ(got[i], word32(i)) << i;
}

TEST(RandomFill, UniformFloat) {
  const auto got = fill_every_way<float>(40001, [](float* out, int64_t first, int64_t n) {
    fill_uniform(out, first, n, kSeed, kOffset, -2.0f, 6.0f);
  });
  for (int64_t i = 0; i < 40001; ++i) {
    ASSERT_EQ(got[i], static_cast<float>(word32(i) >> 8) * 0x1p-24f * 8.0f - 2.0f) << i;
  }
}

TEST(RandomFill, UniformDouble) {
  const auto got = fill_every_way<double>(40001, [](double* out, int64_t first, int64_t n) {
    fill_uniform(out, first, n, kSeed, kOffset, -2.0, 6.0);
  });
  for (int64_t i = 0; i < 40001; ++i) {
    ASSERT_EQ(got[i], static_cast<double>(word64(i) >> 11) * 0x1p-53 * 8.0 - 2.0) << i;
  }
}

TEST(RandomFill, UniformStaysBelowItsUpperEnd) {
  // u (hi - lo) + lo rounds to hi for every second word here.
  std::vector<float> got(1000);
  fill_uniform(got.data(), 0, 1000, kSeed, kOffset, 1.0f, std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(*std::max_element(got.begin(), got.end()), 1.0f);
  std::vector<double> same(10);
  fill_uniform(same.data(), 0, 10, kSeed, kOffset, 3.0, 3.0);
  EXPECT_EQ(same, std::vector<double>(10, 3.0));
}

TEST(RandomFill, UniformOfFewerBits) {
  std::vector<float> got(4000);
  fill_uniform(got.data(), 0, 4000, kSeed, kOffset, 0.0f, 1.0f, 8);
  for (int64_t i = 0; i < 4000; ++i)
    ASSERT_EQ(got[i], static_cast<float>(word32(i) >> 24) / 256.0f);
}

TEST(RandomFill, NormalFloatIsBoxMuller) {
  const auto got = fill_every_way<float>(40001, [](float* out, int64_t first, int64_t n) {
    fill_normal(out, first, n, kSeed, kOffset, 0.0f, 1.0f);
  });
  for (int64_t i = 0; i + 1 < 40001; i += 2) {
    const double u = (static_cast<double>(word32(i) >> 1) + 0.5) * 0x1p-31;
    const double radius = std::sqrt(-2.0 * std::log(u));
    const double angle = 2.0 * M_PI * 0x1p-32 * word32(i + 1);
    // Where u is near 1 its last bit moves the radius by 3e-4; elsewhere rounding is all there is.
    const double bound = 1e-6 * (1.0 + radius) + 0x1p-24 / std::max(radius, 1e-4);
    ASSERT_NEAR(got[i], radius * std::cos(angle), bound) << i;
    ASSERT_NEAR(got[i + 1], radius * std::sin(angle), bound) << i;
  }
}

TEST(RandomFill, NormalDoubleIsBoxMuller) {
  const auto got = fill_every_way<double>(20001, [](double* out, int64_t first, int64_t n) {
    fill_normal(out, first, n, kSeed, kOffset, 0.0, 1.0);
  });
  for (int64_t i = 0; i + 1 < 20001; i += 2) {
    const long double u = (static_cast<long double>(word64(i) >> 11) + 1.0L) * 0x1p-53L;
    const long double radius = std::sqrt(-2.0L * std::log(u));
    const long double angle = 2.0L * M_PIl * 0x1p-64L * word64(i + 1);
    const double bound = static_cast<double>(4e-15L * (1.0L + radius));
    ASSERT_NEAR(got[i], static_cast<double>(radius * std::cos(angle)), bound) << i;
    ASSERT_NEAR(got[i + 1], static_cast<double>(radius * std::sin(angle)), bound) << i;
  }
}

template <class T>
void check_normal_moments(T mean, T std) {
  constexpr int64_t kCount = 1 << 19;
  std::vector<T> got(kCount);
  fill_normal(got.data(), 0, kCount, kSeed, kOffset, mean, std);
  double moment[5] = {};
  double neighbours = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double z = (got[i] - static_cast<double>(mean)) / std;
    for (int k = 1; k <= 4; ++k) moment[k] += std::pow(z, k) / kCount;
    if (i) neighbours += z * (got[i - 1] - static_cast<double>(mean)) / std / kCount;
  }
  // Five standard errors each: 1, sqrt 2, sqrt 15, sqrt 96, 1 over sqrt n.
  const double error = 5.0 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(moment[1], 0.0, error);
  EXPECT_NEAR(moment[2], 1.0, error * std::sqrt(2.0));
  EXPECT_NEAR(moment[3], 0.0, error * std::sqrt(15.0));
  EXPECT_NEAR(moment[4], 3.0, error * std::sqrt(96.0));
  EXPECT_NEAR(neighbours, 0.0, error);
}
TEST(RandomFill, NormalMoments) {
  check_normal_moments<float>(3.0f, 0.5f);
  check_normal_moments<double>(-1.0, 2.0);
}

TEST(RandomFill, RandomInt) {
  for (uint64_t range : {uint64_t{1}, uint64_t{10}, uint64_t{0xfffffff1}, uint64_t{0xffffffff},
                         uint64_t{1} << 32, uint64_t{3} << 61, ~uint64_t{0}, uint64_t{0}}) {
    const int64_t lo = range > (uint64_t{1} << 40) || range == 0 ? INT64_MIN : -5;
    const auto got = fill_every_way<int64_t>(4001, [=](int64_t* out, int64_t first, int64_t n) {
      fill_random_int(out, first, n, kSeed, kOffset, lo, range);
    });
    for (int64_t i = 0; i < 4001; ++i) {
      const uint64_t word = word64(i);
      const auto scaled =
          range == 0 ? word
                     : static_cast<uint64_t>((static_cast<unsigned __int128>(word) * range) >> 64);
      ASSERT_EQ(static_cast<uint64_t>(got[i]) - static_cast<uint64_t>(lo), scaled)
          << range << " " << i;
    }
  }
}

TEST(RandomFill, Bernoulli) {
  for (double p : {0.0, 0x1p-32, 0.1, 0.5, 1.0 - 0x1p-32, 1.0}) {
    const auto got = fill_every_way<uint8_t>(5001, [=](uint8_t* out, int64_t first, int64_t n) {
      fill_bernoulli(out, first, n, kSeed, kOffset, p);
    });
    const std::vector<float> p_float(5001, static_cast<float>(p));
    const std::vector<double> p_double(5001, p);
    std::vector<uint8_t> by_element(5001);
    fill_bernoulli(by_element.data(), 0, 5001, kSeed, kOffset, p_double.data());
    EXPECT_EQ(got, by_element) << p;
    for (int64_t i = 0; i < 5001; ++i) ASSERT_EQ(got[i], word32(i) < p * 0x1p32) << p << " " << i;
    fill_bernoulli(by_element.data(), 7, 4000, kSeed, kOffset, p_float.data());
    for (int64_t i = 0; i < 4000; ++i)
      ASSERT_EQ(by_element[i], word32(i + 7) < p_float[i] * 0x1p32);
  }
}

TEST(RandomFill, NothingToDo) {
  float untouched = 7.0f;
  fill_normal(&untouched, 3, 0, kSeed, kOffset, 0.0f, 1.0f);
  fill_uniform(&untouched, 64, 0, kSeed, kOffset, 0.0f, 1.0f);
  parallel_random_fill(0, [&](int64_t, int64_t) { untouched = 0.0f; });
  EXPECT_EQ(untouched, 7.0f);
}

}  // namespace
}  // namespace taeda::cpu
