// Tile products: the instructions of AMX, which only the functions marked here may contain.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "taeda/backends/cpu/attention/tiles.h"

namespace taeda::cpu::attention {
namespace {

#define TAEDA_TILES __attribute__((target("amx-tile,amx-bf16,avx512bf16")))

constexpr int kTileRows = 16, kRegisters = 8;

int64_t whole_steps(int64_t n) { return (n + kTileStep - 1) / kTileStep * kTileStep; }

// What LDTILECFG reads: all registers have sixteen rows of 64 bytes.
struct alignas(64) Shapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
  constexpr Shapes() {
    std::fill_n(row_bytes, kRegisters, 64);
    std::fill_n(rows, kRegisters, kTileRows);
  }
};
static_assert(sizeof(Shapes) == 64);

// A constant, which is in memory as a whole: of what LDTILECFG reads, GCC's intrinsic declares the
// first eight bytes only, and stores to the others of a local object are left out.
constexpr Shapes kShapes;

TAEDA_TILES void open() { _tile_loadconfig(&kShapes); }
TAEDA_TILES void close() { _tile_release(); }

void pack_rows(int64_t rows, int64_t width, Matrix<const BFloat16> from, int64_t depth,
               BFloat16* out) {
  for (int64_t i = 0; i < rows; ++i, out += depth) {
    const BFloat16* row = from.data + i * from.row_stride;
    if (from.col_stride == 1)
      std::memcpy(static_cast<void*>(out), row, width * sizeof(BFloat16));
    else
      for (int64_t p = 0; p < width; ++p) out[p] = row[p * from.col_stride];
    std::fill(out + width, out + depth, BFloat16());
  }
  std::fill_n(out, (whole_steps(rows) - rows) * depth, BFloat16());
}

// Eight rows of eight elements turned in registers.
void turn_eight(const BFloat16* from, int64_t from_stride, BFloat16* out, int64_t out_stride) {
  __m128i a[8], b[8];
  for (int i = 0; i < 8; ++i)
    a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_stride));
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm_unpacklo_epi16(b[i], b[i + 4]);
    a[2 * i + 1] = _mm_unpackhi_epi16(b[i], b[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
  }
  for (int i = 0; i < 8; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * out_stride), b[i]);
}

void pack_turned(int64_t rows, int64_t width, Matrix<const BFloat16> from, int64_t depth,
                 int64_t stride, BFloat16* out) {
  const int64_t steps = whole_steps(rows);
  const bool is_plain = from.col_stride == 1;
  const int64_t whole_rows = is_plain ? rows / 8 * 8 : 0,
                whole_width = is_plain ? width / 8 * 8 : 0;
  const auto copy = [&](int64_t first_row, int64_t first_col) {
    for (int64_t j = first_col; j < width; ++j)
      for (int64_t i = first_row; i < rows; ++i)
        out[j * stride + i] = from.data[i * from.row_stride + j * from.col_stride];
  };
  for (int64_t i = 0; i < whole_rows; i += 8)
    for (int64_t j = 0; j < whole_width; j += 8)
      turn_eight(from.data + i * from.row_stride + j, from.row_stride, out + j * stride + i,
                 stride);
  copy(whole_rows, 0);
  copy(0, whole_width);
  for (int64_t j = 0; j < width; ++j)
    std::fill(out + j * stride + rows, out + j * stride + steps, BFloat16());
  for (int64_t j = width; j < depth; ++j) std::fill_n(out + j * stride, steps, BFloat16());
}

void pack_pairs(int64_t lanes, int64_t width, Matrix<const BFloat16> from, int64_t depth,
                BFloat16* out) {
  std::fill_n(out, kTileLanes * depth, BFloat16());
  for (int64_t i = 0; i < lanes; ++i) {
    const BFloat16* row = from.data + i * from.row_stride;
    BFloat16* lane = out + i / kTileRows * kTileRows * depth + i % kTileRows * 2;
    const int64_t whole = from.col_stride == 1 ? width / 2 * 2 : 0;
    for (int64_t p = 0; p < whole; p += 2)
      std::memcpy(static_cast<void*>(lane + p * kTileRows), row + p, 2 * sizeof(BFloat16));
    for (int64_t p = whole; p < width; ++p)
      lane[p / 2 * 2 * kTileRows + p % 2] = row[p * from.col_stride];
  }
}

// exp(x) for x of at most zero, with a relative error below 2^-22: powers of two by a polynomial of
// degree five.
TAEDA_TILES inline __m512 rough_exp(__m512 x) {
  // In this order a NaN stays one.
  const __m512 y =
      _mm512_max_ps(_mm512_set1_ps(-150.0f), _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)));
  const __m512 whole = _mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 part = _mm512_sub_ps(y, whole);
  __m512 power = _mm512_set1_ps(0.00132647273f);
  for (const float c : {0.00967151299f, 0.0555073358f, 0.240222424f, 0.693147004f, 1.0f})
    power = _mm512_fmadd_ps(power, part, _mm512_set1_ps(c));
  return _mm512_scalef_ps(power, whole);
}

TAEDA_TILES inline __m512i narrow(__m512 x) {
  const __m256bh half = _mm512_cvtneps_pbh(x);
  return _mm512_cvtepu16_epi32(reinterpret_cast<const __m256i&>(half));
}

// Sixteen lanes of a panel.
TAEDA_TILES void soften_lanes(int64_t rows, const float* scores, const float* mask, float* largest,
                              float* sum, float* shrink, BFloat16* out) {
  const __m512 unseen = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  const auto score = [&](int64_t i) TAEDA_TILES {
    const __m512 x = _mm512_loadu_ps(scores + i * kTileLanes);
    return mask ? _mm512_add_ps(x, _mm512_loadu_ps(mask + i * kTileLanes)) : x;
  };
  const __m512 before = _mm512_loadu_ps(largest);
  __m512 most[4] = {before, unseen, unseen, unseen};
  for (int64_t i = 0; i < rows; ++i) most[i % 4] = _mm512_max_ps(score(i), most[i % 4]);
  const __m512 now =
      _mm512_max_ps(_mm512_max_ps(most[0], most[1]), _mm512_max_ps(most[2], most[3]));
  // Infinities have no difference: a query that sees no key yet is compared with zero.
  const __m512 center =
      _mm512_mask_mov_ps(now, _mm512_cmp_ps_mask(now, unseen, _CMP_EQ_OQ), _mm512_setzero_ps());
  __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
  for (int64_t i = 0; i < whole_steps(rows); i += 2, out += 2 * kTileRows) {
    const __m512 first =
        i < rows ? rough_exp(_mm512_sub_ps(score(i), center)) : _mm512_setzero_ps();
    const __m512 second =
        i + 1 < rows ? rough_exp(_mm512_sub_ps(score(i + 1), center)) : _mm512_setzero_ps();
    even = _mm512_add_ps(even, first);
    odd = _mm512_add_ps(odd, second);
    _mm512_storeu_si512(out, _mm512_or_si512(narrow(first), _mm512_slli_epi32(narrow(second), 16)));
  }
  const __m512 factor = rough_exp(_mm512_sub_ps(before, center));
  _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_loadu_ps(sum), factor, _mm512_add_ps(even, odd)));
  _mm512_storeu_ps(shrink, factor);
  _mm512_storeu_ps(largest, now);
}

TAEDA_TILES void soften(int64_t rows, const float* scores, const float* mask, float* largest,
                        float* sum, float* shrink, BFloat16* out) {
  for (int64_t lane = 0; lane < kTileLanes; lane += kTileRows)
    soften_lanes(rows, scores + lane, mask ? mask + lane : nullptr, largest + lane, sum + lane,
                 shrink + lane, out + lane * whole_steps(rows));
}

TAEDA_TILES void multiply(int64_t rows, int64_t depth, const BFloat16* a, int64_t a_stride,
                          const BFloat16* b, bool adds, float* c) {
  constexpr int kRowBytes = kTileLanes * sizeof(float), kPairBytes = 64;
  const int64_t a_bytes = a_stride * static_cast<int64_t>(sizeof(BFloat16));
  const BFloat16* const right = b + kTileRows * depth;
  asm volatile("" ::: "memory");  // loads of tiles do not say that they read any
  for (int64_t i = 0; i < rows; i += 2 * kTileRows) {
    float *top = c + i * kTileLanes, *bottom = top + kTileRows * kTileLanes;
    if (adds) {
      _tile_loadd(0, top, kRowBytes);
      _tile_loadd(1, top + kTileRows, kRowBytes);
      _tile_loadd(2, bottom, kRowBytes);
      _tile_loadd(3, bottom + kTileRows, kRowBytes);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    const BFloat16 *upper = a + i * a_stride, *lower = upper + kTileRows * a_stride;
    for (int64_t p = 0; p < depth; p += kTileStep) {
      _tile_loadd(4, upper + p, a_bytes);
      _tile_loadd(6, b + p * kTileRows, kPairBytes);
      _tile_loadd(7, right + p * kTileRows, kPairBytes);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, lower + p, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, top, kRowBytes);
    _tile_stored(1, top + kTileRows, kRowBytes);
    _tile_stored(2, bottom, kRowBytes);
    _tile_stored(3, bottom + kTileRows, kRowBytes);
  }
}

}  // namespace

bool has_tiles() {
  static const bool is_granted = [] {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // of arch_prctl(2)
    __builtin_cpu_init();
    return __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("avx512bf16") &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return is_granted;
}

const TileProducts tile_products_avx512 = {&open,       &close,  &pack_rows, &pack_turned,
                                           &pack_pairs, &soften, &multiply};

}  // namespace taeda::cpu::attention
