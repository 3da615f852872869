// Rows of the random stream that follow each other. Part of generated code of the CPU.
#pragma once

#include "taeda/kernel/math_random.h"

TAEDA_MATH_BEGIN

#if !defined(__CUDACC__)
// Four rows that follow each other. Where they begin with a block each is drawn once, one per lane.
template <class V>
struct td_drawn_rows {
  V row[4];
};
// Four values per lane, one after the other, as rows.
template <class V>
TD_FN td_drawn_rows<V> td_rows_of_blocks(V a, V b, V c, V d) {
  constexpr int lanes = TAEDA_VEC_BYTES / 4;
  td_drawn_rows<V> rows;
#  pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    td_u32 pick = {}, join = {};
#  pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) {
      pick[l] = (unsigned)(lanes / 4 * r + l / 4 + (l & 1 ? lanes : 0));
      join[l] = (unsigned)(l & 2 ? lanes + l : l);
    }
    rows.row[r] =
        __builtin_shuffle(__builtin_shuffle(a, b, pick), __builtin_shuffle(c, d, pick), join);
  }
  return rows;
}
TD_FN td_words<td_u32> td_draw_blocks(td_ulong seed, td_ulong offset, td_long first) {
  td_u32 lane = {};
  for (int l = 0; l < TAEDA_VEC_BYTES / 4; ++l) lane[l] = (unsigned)l;
  const td_ulong counter = offset + (td_ulong)first / 4;
  const td_u32 from = td_u32{} + (unsigned)counter;
  const td_u32 low[1] = {from + lane};
  const td_u32 carried = low[0] < from ? td_u32{} + 1 : td_u32{};
  const td_u32 high[1] = {carried + (unsigned)(counter >> 32)};
  td_words<td_u32> words[1];
  td_philox(low, high, td_make_philox_keys(seed, td_u32{}), words);
  return words[0];
}
// The rows one by one.
template <class V, class F>
TD_FN td_drawn_rows<V> td_each_row(td_long first, F draw) {
  td_drawn_rows<V> rows;
  for (int r = 0; r < 4; ++r) rows.row[r] = draw(first + r * (TAEDA_VEC_BYTES / 4));
  return rows;
}
TD_FN td_drawn_rows<td_u32> td_draw_word_rows(td_ulong seed, td_ulong offset, td_long first) {
  if (TAEDA_VEC_BYTES < 32 || (first & 3) != 0)
    return td_each_row<td_u32>(first,
                               [&](td_long at) { return td_draw_word_row(seed, offset, at); });
  const td_words<td_u32> w = td_draw_blocks(seed, offset, first);
  return td_rows_of_blocks(w.w0, w.w1, w.w2, w.w3);
}
TD_FN td_drawn_rows<td_f32> td_draw_uniform_rows(td_ulong seed, td_ulong offset, td_long first,
                                                 int bits) {
  const td_drawn_rows<td_u32> words = td_draw_word_rows(seed, offset, first);
  td_drawn_rows<td_f32> rows;
  for (int r = 0; r < 4; ++r) rows.row[r] = td_uniform32<td_f32>(words.row[r], bits);
  return rows;
}
TD_FN td_drawn_rows<td_f32> td_draw_normal_rows(td_ulong seed, td_ulong offset, td_long first) {
  if (TAEDA_VEC_BYTES < 32 || (first & 3) != 0)
    return td_each_row<td_f32>(first,
                               [&](td_long at) { return td_draw_normal_row(seed, offset, at); });
  const td_words<td_u32> w = td_draw_blocks(seed, offset, first);
  const td_normals<td_f32> a = td_normal_pair<td_f32>(w.w0, w.w1);
  const td_normals<td_f32> b = td_normal_pair<td_f32>(w.w2, w.w3);
  return td_rows_of_blocks(a.x, a.y, b.x, b.y);
}
#endif

TAEDA_MATH_END
