// Products of bfloat16 by the tile registers of x86 (AMX), sixteen rows of sixteen pairs each.
//
// A tile of the left operand is sixteen rows as they lie in memory. One of the right operand has
// pairs: element (p, lane) lies at p / 2, then the lane, then p % 2. A panel is `kTileLanes` lanes
// wide, two tiles beside each other, each with its whole depth.
#pragma once

#include <cstdint>

#include "taeda/backends/cpu/gemm/gemm.h"

namespace taeda::cpu::attention {

constexpr int64_t kTileLanes = 32;
// Rows and depths are whole multiples of it.
constexpr int64_t kTileStep = 32;

// Whether this process may use tile registers.
TAEDA_API bool has_tiles();

struct TileProducts {
  // Shapes the registers of this thread, and gives them back.
  void (*open)();
  void (*close)();
  // Rows of `width` elements, zeros up to `depth` and to a whole number of steps of rows.
  void (*pack_rows)(int64_t rows, int64_t width, Matrix<const BFloat16> from, int64_t depth,
                    BFloat16* out);
  // The same turned: a row per column of `from`, `depth` of them, `stride` elements apart.
  void (*pack_turned)(int64_t rows, int64_t width, Matrix<const BFloat16> from, int64_t depth,
                      int64_t stride, BFloat16* out);
  // One panel of pairs, a lane per row of `from`, at most kTileLanes.
  void (*pack_pairs)(int64_t lanes, int64_t width, Matrix<const BFloat16> from, int64_t depth,
                     BFloat16* out);
  // AttentionRows::softmax_step for one panel whose weights are wanted as pairs: exponentials have
  // a few units of error in the last place, and rows up to a whole number of steps become zeros.
  void (*soften)(int64_t rows, const float* scores, const float* mask, float* largest, float* sum,
                 float* shrink, BFloat16* out);
  // c = a * b, or c + a * b, for one panel of `rows` rows of kTileLanes numbers.
  void (*multiply)(int64_t rows, int64_t depth, const BFloat16* a, int64_t a_stride,
                   const BFloat16* b, bool adds, float* c);
};

TAEDA_API extern const TileProducts tile_products_avx512;

}  // namespace taeda::cpu::attention
