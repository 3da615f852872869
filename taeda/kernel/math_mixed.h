// Vectors of mixed width: as many 8-byte values as a register has 4-byte lanes, in two halves.
// Also ramps of indices and the memory of local buffers. For generated code of the CPU.
#pragma once

#include "taeda/kernel/math_storage.h"

TAEDA_MATH_BEGIN

// V is one of td_f64, td_i64, td_u64.
template <class V>
struct td_two {
  V lo, hi;
  typedef __typeof__(V{}[0] + 0) S;
  static constexpr int kHalf = td_lanes<V>;
  TD_MEMBER_FN S operator[](int lane) const { return lane < kHalf ? lo[lane] : hi[lane - kHalf]; }
  TD_MEMBER_FN static td_two of(V both) { return {both, both}; }
};

// The function of each half.
template <class F, class... A>
TD_FN auto td_halves(F f, const A&... a) -> td_two<decltype(f(a.lo...))> {
  return {f(a.lo...), f(a.hi...)};
}

// The halves of a vector of 4-byte lanes.
typedef float td_f32_half __attribute__((vector_size(TAEDA_VEC_BYTES / 2)));
typedef int td_i32_half __attribute__((vector_size(TAEDA_VEC_BYTES / 2)));
typedef unsigned td_u32_half __attribute__((vector_size(TAEDA_VEC_BYTES / 2)));
template <class V>
struct td_half_of;
template <>
struct td_half_of<td_f32> {
  typedef td_f32_half type;
};
template <>
struct td_half_of<td_i32> {
  typedef td_i32_half type;
};
template <>
struct td_half_of<td_u32> {
  typedef td_u32_half type;
};

// 4-byte lanes as 8-byte ones and back. A mask keeps all bits of a lane equal.
template <class To, class V>
TD_FN td_two<To> td_widen(V v) {
  typename td_half_of<V>::type lo, hi;
  __builtin_memcpy(&lo, &v, sizeof(lo));
  __builtin_memcpy(&hi, (const char*)&v + sizeof(lo), sizeof(hi));
  return {__builtin_convertvector(lo, To), __builtin_convertvector(hi, To)};
}
template <class To, class V>
TD_FN To td_shorten(td_two<V> v) {
  typedef typename td_half_of<To>::type half;
  const half lo = __builtin_convertvector(v.lo, half), hi = __builtin_convertvector(v.hi, half);
  To to;
  __builtin_memcpy(&to, &lo, sizeof(lo));
  __builtin_memcpy((char*)&to + sizeof(lo), &hi, sizeof(hi));
  return to;
}

template <class Stored, class V>
TD_FN td_two<V> td_read_two(const void* p, td_long i, int count) {
  constexpr int kHalf = td_lanes<V>;
  const int rest = count < kHalf ? 0 : count - kHalf;
  return {td_read_lanes<Stored, V>(p, i, count - rest),
          td_read_lanes<Stored, V>(p, i + (rest ? kHalf : 0), rest)};
}
template <class Stored, class V>
TD_FN void td_write_two(void* p, td_long i, td_two<V> v, int count) {
  constexpr int kHalf = td_lanes<V>;
  const int rest = count < kHalf ? 0 : count - kHalf;
  td_write_lanes<Stored>(p, i, v.lo, count - rest);
  if (rest) td_write_lanes<Stored>(p, i + kHalf, v.hi, rest);
}
template <class V, class F>
TD_FN td_two<V> td_each_two(int count, F value) {
  constexpr int kHalf = td_lanes<V>;
  td_two<V> v = {};
  for (int lane = 0; lane < count && lane < kHalf; ++lane) v.lo[lane] = value(lane);
  for (int lane = kHalf; lane < count; ++lane) v.hi[lane - kHalf] = value(lane);
  return v;
}

// start, start + step, ...
TD_TABLE td_long td_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
template <class V>
TD_FN V td_ramp(td_long start, td_long step) {
  return td_load<V>(td_counts) * step + start;
}
template <class V>
TD_FN td_two<V> td_ramp_two(td_long start, td_long step) {
  return {td_ramp<V>(start, step), td_ramp<V>(start + td_lanes<V> * step, step)};
}

// Memory of local buffers for one call.
struct td_local_memory {
  char *memory, *start;
  explicit td_local_memory(td_long bytes)
      : memory((char*)__builtin_malloc(bytes + 64)), start(memory + (64 - (td_ulong)memory % 64)) {}
  ~td_local_memory() { __builtin_free(memory); }
  td_local_memory(const td_local_memory&) = delete;
  // The next buffer.
  char* take(td_long bytes) {
    char* const at = start;
    start += (bytes + 63) / 64 * 64;
    return at;
  }
};

TAEDA_MATH_END
