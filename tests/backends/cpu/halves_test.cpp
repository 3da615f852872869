// Runs of half floats against conversions one by one: every half, what lies between two of them,
// every length of a rest.
#include "taeda/backends/cpu/pointwise/halves.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace taeda::cpu {
namespace {

template <class T>
class HalfRunsTest : public testing::Test {};
using Halves = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfRunsTest, Halves);

template <class T>
std::vector<T> every() {
  std::vector<T> all;
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) all.push_back(T::from_bits(bits));
  return all;
}

TYPED_TEST(HalfRunsTest, WidensEvery) {
  const std::vector<TypeParam> all = every<TypeParam>();
  std::vector<float> wide(all.size());
  half_runs<TypeParam>().widen(all.data(), static_cast<int64_t>(all.size()), wide.data());
  for (size_t i = 0; i < all.size(); ++i) {
    const float expected = all[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
  }
}

TYPED_TEST(HalfRunsTest, RoundsWhatLiesBetween) {
  std::vector<float> values;
  for (const TypeParam half : every<TypeParam>()) {
    const float v = half, next = TypeParam::from_bits(half.bits + 1);
    const float middle = v / 2 + next / 2;
    for (const float x : {v, middle})
      for (const float to :
           {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()}) {
        values.push_back(x);
        values.push_back(std::nextafter(x, to));
      }
  }
  std::vector<TypeParam> narrow(values.size());
  half_runs<TypeParam>().narrow(values.data(), static_cast<int64_t>(values.size()), narrow.data());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << i;
    } else {
      EXPECT_EQ(narrow[i].bits, TypeParam(values[i]).bits) << values[i];
    }
  }
}

TYPED_TEST(HalfRunsTest, LeavesWhatIsBehindARun) {
  for (int64_t count = 0; count < 40; ++count) {
    std::vector<TypeParam> halves(41, TypeParam(1.5f)), back(41, TypeParam(7.0f));
    std::vector<float> wide(41, -1);
    half_runs<TypeParam>().widen(halves.data(), count, wide.data());
    for (int64_t i = 0; i < 41; ++i) EXPECT_EQ(wide[i], i < count ? 1.5f : -1.0f);
    half_runs<TypeParam>().narrow(wide.data(), count, back.data());
    for (int64_t i = 0; i < 41; ++i)
      EXPECT_EQ(static_cast<float>(back[i]), i < count ? 1.5f : 7.0f);
  }
}

}  // namespace
}  // namespace taeda::cpu
