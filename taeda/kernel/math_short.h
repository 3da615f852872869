// Vectors of integers that are stored in fewer bits, and indices of lanes. Part of generated code
// of the CPU.
#pragma once

#include "taeda/kernel/math_mixed.h"

TAEDA_MATH_BEGIN

#if !defined(__CUDACC__)
// td_read_lanes and td_write_lanes of integers of 1, 2 and 4 bytes, without a step per lane.
template <class Stored, class V>
TD_FN V td_read_short(const void* p, td_long i, int count) {
  typedef typename Stored::raw raw;
  typedef raw R __attribute__((vector_size(sizeof(raw) * td_lanes<V>)));
  if (count != td_lanes<V>) return td_read_lanes<Stored, V>(p, i, count);
  R r;
  __builtin_memcpy(&r, (const raw*)p + i, sizeof(R));
  return __builtin_convertvector(r, V);
}
template <class Stored, class V>
TD_FN void td_write_short(void* p, td_long i, V v, int count) {
  typedef typename Stored::raw raw;
  typedef raw R __attribute__((vector_size(sizeof(raw) * td_lanes<V>)));
  if (count != td_lanes<V>) return td_write_lanes<Stored>(p, i, v, count);
  const R r = __builtin_convertvector(v, R);
  __builtin_memcpy((raw*)p + i, &r, sizeof(R));
}
template <class Stored, class V>
TD_FN td_two<V> td_read_short_two(const void* p, td_long i, int count) {
  constexpr int half = td_lanes<V>;
  if (count != 2 * half) return td_read_two<Stored, V>(p, i, count);
  return {td_read_short<Stored, V>(p, i, half), td_read_short<Stored, V>(p, i + half, half)};
}
template <class Stored, class V>
TD_FN void td_write_short_two(void* p, td_long i, td_two<V> v, int count) {
  constexpr int half = td_lanes<V>;
  if (count != 2 * half) return td_write_two<Stored>(p, i, v, count);
  td_write_short<Stored>(p, i, v.lo, half);
  td_write_short<Stored>(p, i + half, v.hi, half);
}

// td_checked_index of all lanes: together where none is outside.
template <class V>
TD_FN V td_checked_lanes(V v, td_long extent, bool wraps, td_long* error, td_long check,
                         int count) {
  if (count == td_lanes<V>) {
    const V at = wraps ? (v < 0 ? v + extent : v) : v;
    if (td_no_lane(at < 0 | at >= extent, count)) return at;
  }
  V r = {};
  for (int lane = 0; lane < count; ++lane)
    r[lane] = td_checked_index(v[lane], extent, wraps, error, check);
  return r;
}
template <class V>
TD_FN td_two<V> td_checked_lanes(td_two<V> v, td_long extent, bool wraps, td_long* error,
                                 td_long check, int count) {
  constexpr int half = td_lanes<V>;
  const int rest = count < half ? 0 : count - half;
  const V lo = td_checked_lanes(v.lo, extent, wraps, error, check, count - rest);
  return {lo, td_checked_lanes(v.hi, extent, wraps, error, check, rest)};
}
#endif

TAEDA_MATH_END
