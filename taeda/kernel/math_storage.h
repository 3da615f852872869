// Elements in memory: conversion between storage dtypes and the values that are computed with,
// for scalars and CPU vectors. Part of eager code and of both preludes.
#pragma once

#include "taeda/kernel/math_complex.h"
#include "taeda/kernel/math_types.h"
#if !defined(__CUDACC__)
#  include "taeda/kernel/math_memory.h"
#endif

TAEDA_MATH_BEGIN

// How an element lies in memory, named after its dtype. `from` and `to` convert one element,
// rounding to nearest even.
template <class T>
struct td_plain {
  typedef T raw;
  template <class S>
  TD_MEMBER_FN static S from(T x) {
    return (S)x;
  }
  template <class S>
  TD_MEMBER_FN static T to(S x) {
    return (T)x;
  }
};
typedef td_plain<float> td_float32;
typedef td_plain<double> td_float64;
typedef td_plain<signed char> td_int8;
typedef td_plain<unsigned char> td_uint8;
typedef td_plain<short> td_int16;
typedef td_plain<unsigned short> td_uint16;
typedef td_plain<int> td_int32;
typedef td_plain<unsigned> td_uint32;
typedef td_plain<td_long> td_int64;
typedef td_plain<td_ulong> td_uint64;
typedef td_plain<td_c64> td_complex64;
typedef td_plain<td_c128> td_complex128;

struct td_bool {
  typedef unsigned char raw;
  template <class S>
  TD_MEMBER_FN static bool from(unsigned char x) {
    return x != 0;
  }
  TD_MEMBER_FN static unsigned char to(bool x) { return x ? 1 : 0; }
};

struct td_bfloat16 {
  typedef unsigned short raw;
  template <class S>
  TD_MEMBER_FN static float from(unsigned short x) {
    return td_from_bits((int)((unsigned)x << 16));
  }
  TD_MEMBER_FN static unsigned short to(float x) {
    const unsigned bits = (unsigned)td_bits(x);
    if (x != x) return 0x7fc0;
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

// A float of kExponent and kMantissa bits below a sign. Without infinities there is one NaN, all
// ones, and one more binade.
template <int kExponent, int kMantissa, bool is_finite, class Raw>
struct td_narrow {
  typedef Raw raw;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr unsigned kSign = 1u << (kExponent + kMantissa);
  static constexpr unsigned kInfinity = ((1u << kExponent) - 1) << kMantissa;
  static constexpr unsigned kNan = is_finite ? kSign - 1 : kInfinity | 1u << (kMantissa - 1);

  template <class S>
  TD_MEMBER_FN static float from(Raw x) {
    const unsigned sign = (unsigned)(x >> (kExponent + kMantissa)) << 31;
    const unsigned size = x & (kSign - 1);
    const unsigned exponent = size >> kMantissa, mantissa = size & ((1u << kMantissa) - 1);
    if (is_finite ? size == kNan : exponent == (1u << kExponent) - 1)
      return td_from_bits(
          (int)(sign | 0x7f800000u | (is_finite ? 0x400000u : mantissa << (23 - kMantissa))));
    if (exponent == 0) {
      const float value =
          (float)mantissa * td_from_bits((int)((unsigned)(128 - kBias - kMantissa) << 23));
      return sign ? -value : value;
    }
    return td_from_bits(
        (int)(sign | (exponent + 127 - kBias) << 23 | mantissa << (23 - kMantissa)));
  }

  TD_MEMBER_FN static Raw to(float x) {
    const unsigned bits = (unsigned)td_bits(x), size = bits & 0x7fffffffu;
    const unsigned sign = (bits >> 31) << (kExponent + kMantissa);
    if (size > 0x7f800000u) return (Raw)(sign | kNan);
    const int exponent = (int)(size >> 23) - 127 + kBias;
    if (exponent <= 0) {
      const int shift = 24 - kMantissa - exponent;
      if (shift > 25) return (Raw)sign;
      const unsigned mantissa = (size & 0x7fffffu) | 0x800000u;
      const unsigned rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
      unsigned result = mantissa >> shift;
      if (rest > half || (rest == half && (result & 1))) ++result;
      return (Raw)(sign | result);
    }
    const unsigned rounded = size + ((1u << (22 - kMantissa)) - 1) + (size >> (23 - kMantissa) & 1);
    const int result = (int)(rounded >> (23 - kMantissa)) - ((127 - kBias) << kMantissa);
    const unsigned limit = is_finite ? kNan - 1 : kInfinity;
    return (Raw)(sign | (result > (int)limit ? limit : (unsigned)result));
  }
};
typedef td_narrow<5, 10, false, unsigned short> td_float16;
typedef td_narrow<4, 3, true, unsigned char> td_float8_e4m3fn;
typedef td_narrow<5, 2, false, unsigned char> td_float8_e5m2;

// An element as a value of S.
template <class Stored, class S>
TD_FN S td_read(const void* p, td_long i) {
  return Stored::template from<S>(((const typename Stored::raw*)p)[i]);
}
template <class Stored, class S>
TD_FN void td_write(void* p, td_long i, S value) {
  ((typename Stored::raw*)p)[i] = Stored::to(value);
}
// Rounded to a dtype and back.
template <class Stored>
TD_FN float td_round_to(float x) {
  return Stored::template from<float>(Stored::to(x));
}

// An index within 0 .. extent - 1, from -extent where it wraps. One outside is written down, the
// first of them to stay, and read as 0.
TD_FN td_long td_checked_index(td_long index, td_long extent, bool wraps, td_long* error,
                               td_long check) {
  const td_long at = wraps && index < 0 ? index + extent : index;
  if (TD_RARE(at < 0 || at >= extent)) {
#if defined(__CUDACC__)
    if (atomicCAS((unsigned long long*)error, 0ull, (unsigned long long)check) == 0)
      error[1] = index;
#else
    if (error[0] == 0) {
      error[0] = check;
      error[1] = index;
    }
#endif
    return 0;
  }
  return at;
}

#if !defined(__CUDACC__)
// Lanes of a vector, and the vectors of narrower elements with as many lanes as one of floats.
template <class V>
constexpr int td_lanes = sizeof(V) / sizeof(V{}[0]);
typedef unsigned short td_u16_half __attribute__((vector_size(TAEDA_VEC_BYTES / 2)));
template <class Stored>
constexpr bool td_is_half = __is_same(Stored, td_bfloat16) || __is_same(Stored, td_float16);

// A compiler converts a whole register in two halves, which costs four shuffles.
TD_FN td_u32 td_widen(td_u16_half x) {
#  if TAEDA_VEC_BYTES == 64 && defined(__AVX512F__) && !defined(__clang__)
  typedef short shorts __attribute__((vector_size(32)));
  return (td_u32)__builtin_ia32_pmovzxwd512_mask((shorts)x, td_i32{}, -1);
#  else
  return __builtin_convertvector(x, td_u32);
#  endif
}

// td_float16 by lanes: the same steps without branches.
TD_FN td_f32 td_from_float16(td_u32 x) {
  const td_u32 size = x & 0x7fff, sign = (x & 0x8000) << 16, bits = size << 13;
  const td_u32 normal =
      bits + (size >= td_u32{} + 0x7c00 ? td_u32{} + (224u << 23) : td_u32{} + (112u << 23));
  const td_u32 small = (td_u32)(__builtin_convertvector((td_i32)size, td_f32) * 0x1p-24f);
  return (td_f32)((size < td_u32{} + 0x400 ? small : normal) | sign);
}
TD_FN td_u32 td_to_float16(td_f32 x) {
  const td_u32 bits = (td_u32)x, size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  const td_u32 rounded = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112u << 10);
  const td_u32 normal = rounded > td_u32{} + 0x7c00 ? td_u32{} + 0x7c00 : rounded;
  // Numbers below the normal ones are multiples of 2^-24, the last bit of a float from 1/2 on.
  const td_u32 small = (td_u32)((td_f32)size + 0.5f) - 0x3f000000;
  const td_u32 number = size < td_u32{} + (113u << 23) ? small : normal;
  return (size > td_u32{} + 0x7f800000 ? td_u32{} + 0x7e00 : number) | sign;
}

// Consecutive elements as a vector; count is the number of those that exist.
template <class Stored, class V>
TD_FN V td_read_lanes(const void* p, td_long i, int count) {
  typedef typename Stored::raw raw;
  typedef __typeof__(V{}[0] + 0) S;
  const raw* from = (const raw*)p + i;
  V v = {};
  if constexpr (__is_same(Stored, td_plain<S>)) {
    if (count == td_lanes<V>) return td_load<V>(from);
    return td_load_tail<V>(from, count * (td_long)sizeof(S));
  } else if constexpr (td_is_half<Stored> && __is_same(V, td_f32)) {
    td_u16_half half = {};
    if (count == td_lanes<V>)
      half = td_load<td_u16_half>(from);
    else
      half = td_load_tail<td_u16_half>(from, count * 2);
    if constexpr (__is_same(Stored, td_float16)) return td_from_float16(td_widen(half));
    return (td_f32)(td_widen(half) << 16);
  } else {
    for (int lane = 0; lane < count; ++lane) v[lane] = Stored::template from<S>(from[lane]);
    return v;
  }
}
template <class Stored, class V>
TD_FN void td_write_lanes(void* p, td_long i, V v, int count) {
  typedef typename Stored::raw raw;
  typedef __typeof__(V{}[0] + 0) S;
  raw* to = (raw*)p + i;
  if constexpr (__is_same(Stored, td_plain<S>)) {
    if (count == td_lanes<V>) return td_store(to, v);
    td_store_tail(to, v, count * (td_long)sizeof(S));
  } else if constexpr (td_is_half<Stored> && __is_same(V, td_f32)) {
    td_u32 narrow;
    if constexpr (__is_same(Stored, td_float16)) {
      narrow = td_to_float16(v);
    } else {
      const td_u32 bits = (td_u32)v;
      const td_u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      narrow = v == v ? rounded : td_u32{} + 0x7fc0;
    }
    const td_u16_half half = __builtin_convertvector(narrow, td_u16_half);
    if (count == td_lanes<V>) return td_store(to, half);
    td_store_tail(to, half, count * 2);
  } else {
    for (int lane = 0; lane < count; ++lane) to[lane] = Stored::to(v[lane]);
  }
}
template <class M>
TD_FN M td_read_mask_lanes(const void* p, td_long i, int count) {
  const unsigned char* from = (const unsigned char*)p + i;
  if (count == td_lanes<M>) return td_load_mask<M>(from);
  return td_load_mask_tail<M>(from, count);
}
template <class M>
TD_FN void td_write_mask_lanes(void* p, td_long i, M mask, int count) {
  unsigned char* to = (unsigned char*)p + i;
  if (count == td_lanes<M>) return td_store_mask(to, mask);
  td_store_mask_tail(to, mask, count);
}
// Whether a mask holds in the first lanes, and whether it holds in none. Of whole vectors, by
// words: a lane is all ones or all zeros.
template <class M>
TD_FN bool td_all_lanes(M mask, int count) {
  if (count == td_lanes<M> && sizeof(M) >= 8) {
    unsigned long words[(sizeof(M) + 7) / 8], all = ~0ul;
    __builtin_memcpy(words, &mask, sizeof(M));
    for (unsigned long word : words) all &= word;
    return all == ~0ul;
  }
  bool all = true;
  for (int lane = 0; lane < count; ++lane) all &= mask[lane] != 0;
  return all;
}
template <class M>
TD_FN bool td_no_lane(M mask, int count) {
  if (count == td_lanes<M> && sizeof(M) >= 8) {
    unsigned long words[(sizeof(M) + 7) / 8], any = 0;
    __builtin_memcpy(words, &mask, sizeof(M));
    for (unsigned long word : words) any |= word;
    return any == 0;
  }
  bool any = false;
  for (int lane = 0; lane < count; ++lane) any |= mask[lane] != 0;
  return !any;
}
// One value per lane from a function of the lane; the others are zero.
template <class V, class F>
TD_FN V td_each_lane(int count, F value) {
  V v = {};
  for (int lane = 0; lane < count; ++lane) v[lane] = value(lane);
  return v;
}
template <class Stored, class V>
TD_FN V td_round_lanes(V v) {
  if constexpr (__is_same(Stored, td_bfloat16)) {
    const td_u32 bits = (td_u32)v;
    const td_u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    return (V)(v == v ? rounded : td_u32{} + 0x7fc00000u);
  } else if constexpr (__is_same(Stored, td_float16) && __is_same(V, td_f32)) {
    return td_from_float16(td_to_float16(v));
  }
  for (int lane = 0; lane < td_lanes<V>; ++lane) v[lane] = td_round_to<Stored>(v[lane]);
  return v;
}
#endif

TAEDA_MATH_END
