// Products by tile registers against sums in a loop, on processors that have such registers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "taeda/backends/cpu/attention/tiles.h"

namespace taeda::cpu::attention {
namespace {

#if defined(__x86_64__)

struct Case {
  int64_t rows, width, lanes;
};

std::vector<BFloat16> random_values(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<BFloat16> values(count);
  for (BFloat16& v : values) v = BFloat16(draw(engine));
  return values;
}

int64_t whole(int64_t n) { return (n + kTileStep - 1) / kTileStep * kTileStep; }

// All sixty-four bytes have been written when the processor reads them.
TEST(AttentionTiles, ProductOfRowsWithPairs) {
  if (!has_tiles()) GTEST_SKIP() << "this processor has no tile registers";
  const TileProducts& tiles = tile_products_avx512;
  for (const Case& c : {Case{32, 32, 32}, {1, 1, 1}, {45, 64, 17}, {100, 80, 31}}) {
    const int64_t depth = whole(c.width);
    const auto left = random_values(c.rows * c.width, 1),
               right = random_values(c.lanes * c.width, 2);
    std::vector<BFloat16> a(whole(c.rows) * depth), b(kTileLanes * depth);
    std::vector<float> sums(whole(c.rows) * kTileLanes, 7);
    tiles.pack_rows(c.rows, c.width, {left.data(), c.width, 1}, depth, a.data());
    tiles.pack_pairs(c.lanes, c.width, {right.data(), c.width, 1}, depth, b.data());
    tiles.open();
    tiles.multiply(whole(c.rows), depth, a.data(), depth, b.data(), false, sums.data());
    tiles.multiply(whole(c.rows), depth, a.data(), depth, b.data(), true, sums.data());
    tiles.close();
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < c.lanes; ++j) {
        double expected = 0;
        for (int64_t p = 0; p < c.width; ++p)
          expected += 2.0 * float(left[i * c.width + p]) * float(right[j * c.width + p]);
        EXPECT_NEAR(sums[i * kTileLanes + j], expected, 1e-4) << i << ", " << j;
      }
  }
}

struct TileShapes {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

// What a function called next finds in its frame.
[[gnu::noinline]] void clear_stack() {
  volatile char bytes[4096];
  for (volatile char& byte : bytes) byte = 0;
}

TEST(AttentionTiles, EveryRegisterIsShaped) {
  if (!has_tiles()) GTEST_SKIP() << "this processor has no tile registers";
  const TileProducts& tiles = tile_products_avx512;
  TileShapes shapes;
  clear_stack();
  tiles.open();
  asm volatile("sttilecfg %0" : "=m"(shapes));
  tiles.close();
  EXPECT_EQ(shapes.palette, 1);
  EXPECT_EQ(shapes.start_row, 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(shapes.row_bytes[i], 64) << i;
    EXPECT_EQ(shapes.rows[i], 16) << i;
  }
}

TEST(AttentionTiles, WeightsOfKeysInTwoBlocks) {
  if (!has_tiles()) GTEST_SKIP() << "this processor has no tile registers";
  const TileProducts& tiles = tile_products_avx512;
  constexpr int64_t kWidth = 40, kKeys = 77, kFirst = 45;
  const int64_t depth = whole(kWidth);
  const auto values = random_values(kKeys * kWidth, 3),
             drawn = random_values(kKeys * kTileLanes, 4);
  std::vector<float> scores(drawn.begin(), drawn.end());
  for (float& x : scores) x *= 20;
  float largest[kTileLanes], total[kTileLanes] = {}, shrink[kTileLanes];
  std::fill_n(largest, kTileLanes, -std::numeric_limits<float>::infinity());
  std::vector<float> sums(depth * kTileLanes);
  tiles.open();
  for (int64_t first : {int64_t{0}, kFirst}) {
    const int64_t count = first == 0 ? kFirst : kKeys - kFirst, steps = whole(count);
    std::vector<BFloat16> a(depth * steps), b(steps * kTileLanes);
    tiles.pack_turned(count, kWidth, {values.data() + first * kWidth, kWidth, 1}, depth, steps,
                      a.data());
    tiles.soften(count, scores.data() + first * kTileLanes, nullptr, largest, total, shrink,
                 b.data());
    for (int64_t i = 0; i < depth * kTileLanes; ++i) sums[i] *= shrink[i % kTileLanes];
    tiles.multiply(depth, steps, a.data(), steps, b.data(), first > 0, sums.data());
  }
  tiles.close();
  for (int64_t j = 0; j < kTileLanes; ++j) {
    double most = -1e30, sum = 0;
    for (int64_t i = 0; i < kKeys; ++i) most = std::max<double>(most, scores[i * kTileLanes + j]);
    for (int64_t i = 0; i < kKeys; ++i) sum += std::exp(scores[i * kTileLanes + j] - most);
    EXPECT_NEAR(total[j], sum, 1e-5 * sum);
    EXPECT_EQ(largest[j], most);
    for (int64_t d = 0; d < kWidth; ++d) {
      double expected = 0;
      for (int64_t i = 0; i < kKeys; ++i)
        expected += std::exp(scores[i * kTileLanes + j] - most) * float(values[i * kWidth + d]);
      EXPECT_NEAR(sums[d * kTileLanes + j], expected, 0.01 * sum) << d << ", " << j;
    }
  }
}

#endif

}  // namespace
}  // namespace taeda::cpu::attention
