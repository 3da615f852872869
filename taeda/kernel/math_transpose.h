// Blocks of memory transposed in registers, for elements of 1, 2, 4 and 8 bytes. Part of generated
// code of the CPU and of the tile interpreter.
#pragma once

#include "taeda/kernel/math_memory.h"

TAEDA_MATH_BEGIN

// A row of a square block: at most 16 elements in at most one register.
template <int item>
struct td_row;
template <>
struct td_row<1> {
  typedef unsigned char raw;
  typedef raw V __attribute__((vector_size(16)));
};
template <>
struct td_row<2> {
  typedef unsigned short raw;
  typedef raw V __attribute__((vector_size(TAEDA_VEC_BYTES == 16 ? 16 : 32)));
};
template <>
struct td_row<4> {
  typedef unsigned raw;
  typedef raw V __attribute__((vector_size(TAEDA_VEC_BYTES)));
};
template <>
struct td_row<8> {
  typedef td_ulong raw;
  typedef raw V __attribute__((vector_size(TAEDA_VEC_BYTES)));
};

// Exchanges the blocks of `size` elements that lie aside of the diagonal of each pair of rows.
template <int item, int size, int lanes>
TD_FN void td_exchange(typename td_row<item>::V* rows) {
  typedef typename td_row<item>::raw raw;
  typedef typename td_row<item>::V V;
  V first, second;
#pragma GCC unroll 16
  for (int l = 0; l < lanes; ++l) {
    first[l] = (raw)(l & size ? lanes + l - size : l);
    second[l] = (raw)(l & size ? lanes + l : l + size);
  }
#pragma GCC unroll 16
  for (int r = 0; r < lanes; ++r) {
    if (r & size) continue;
    const V a = rows[r], b = rows[r + size];
    rows[r] = __builtin_shuffle(a, b, first);
    rows[r + size] = __builtin_shuffle(a, b, second);
  }
}

// to[j * to_stride + i] = from[i * from_stride + j] for one square of rows.
template <int item>
TD_FN void td_transpose_square(const typename td_row<item>::raw* from, td_long from_stride,
                               typename td_row<item>::raw* to, td_long to_stride) {
  typedef typename td_row<item>::V V;
  constexpr int lanes = sizeof(V) / item;
  V rows[lanes];
#pragma GCC unroll 16
  for (int r = 0; r < lanes; ++r) rows[r] = td_load<V>(from + r * from_stride);
  td_exchange<item, 1, lanes>(rows);
  if constexpr (lanes > 2) td_exchange<item, 2, lanes>(rows);
  if constexpr (lanes > 4) td_exchange<item, 4, lanes>(rows);
  if constexpr (lanes > 8) td_exchange<item, 8, lanes>(rows);
#pragma GCC unroll 16
  for (int r = 0; r < lanes; ++r) td_store(to + r * to_stride, rows[r]);
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < m and j < n.
template <int item>
TD_SLOW_FN void td_transpose(const void* source, td_long from_stride, void* target,
                             td_long to_stride, td_long m, td_long n) {
  typedef typename td_row<item>::raw raw;
  constexpr int lanes = sizeof(typename td_row<item>::V) / item;
  const raw* from = (const raw*)source;
  raw* to = (raw*)target;
  const td_long whole_m = m / lanes * lanes, whole_n = n / lanes * lanes;
  for (td_long i = 0; i < whole_m; i += lanes)
    for (td_long j = 0; j < whole_n; j += lanes)
      td_transpose_square<item>(from + i * from_stride + j, from_stride, to + j * to_stride + i,
                                to_stride);
  for (td_long i = 0; i < m; ++i)
    for (td_long j = i < whole_m ? whole_n : 0; j < n; ++j)
      to[j * to_stride + i] = from[i * from_stride + j];
}

TAEDA_MATH_END
