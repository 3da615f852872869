// Copies a block whose source and destination are contiguous along different dimensions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace taeda::cpu {

// Elements of a cache line: the side of the square pieces in which both sides use whole lines.
template <class T>
constexpr int64_t kTransposeSide = 64 / sizeof(T) < 8 ? 8 : 64 / sizeof(T);

// Reads lines of the source and leaves them in the tile as columns.
template <class T>
inline void turn_piece(T* tile, const char* src, int64_t src_step) {
  constexpr int64_t n = kTransposeSide<T>;
  for (int64_t c = 0; c < n; ++c) {
    const T* line = reinterpret_cast<const T*>(src + c * src_step);
    for (int64_t r = 0; r < n; ++r) tile[r * n + c] = line[r];
  }
}

// Element (r, c) goes from src + r * s1 + c * s0 to dst + r * d1 + c * d0; s1 is the element size.
template <class T>
void transpose_block(char* dst, const char* src, int64_t rows, int64_t cols, int64_t d0, int64_t d1,
                     int64_t s0, int64_t s1) {
  constexpr int64_t n = kTransposeSide<T>;
  // Small elements gain from whole lines on both sides; larger ones are as fast without the detour.
  const bool is_by_tile = sizeof(T) <= 2 && d0 == sizeof(T);
  for (int64_t r = 0; r < rows; r += n)
    for (int64_t c = 0; c < cols; c += n) {
      const int64_t rn = std::min(n, rows - r), cn = std::min(n, cols - c);
      if (is_by_tile && rn == n && cn == n) {
        alignas(64) T tile[n * n];
        turn_piece(tile, src + r * s1 + c * s0, s0);
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(dst + (r + i) * d1 + c * d0, tile + i * n, n * sizeof(T));
        continue;
      }
      for (int64_t i = 0; i < rn; ++i) {
        char* to = dst + (r + i) * d1 + c * d0;
        const char* from = src + (r + i) * s1 + c * s0;
        for (int64_t j = 0; j < cn; ++j)
          *reinterpret_cast<T*>(to + j * d0) = *reinterpret_cast<const T*>(from + j * s0);
      }
    }
}

}  // namespace taeda::cpu
