// Loads and stores of CPU vectors and masks, shared by eager and generated code.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

template <class V>
TD_FN V td_load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
TD_FN void td_store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}
// The first bytes of a vector; the others are zero.
template <class V>
TD_FN V td_load_tail(const void* p, td_long bytes) {
  V v = {};
  __builtin_memcpy(&v, p, bytes);
  return v;
}
template <class V>
TD_FN void td_store_tail(void* p, V v, td_long bytes) {
  __builtin_memcpy(p, &v, bytes);
}

// A mask in memory is one byte per lane.
template <class M>
struct td_mask_memory;
template <>
struct td_mask_memory<bool> {
  static constexpr int lanes = 1;
};
#if TAEDA_VEC_BYTES == 16
template <>
struct td_mask_memory<td_i32> {
  static constexpr int lanes = 4;
  typedef unsigned bytes;
};
template <>
struct td_mask_memory<td_i64> {
  static constexpr int lanes = 2;
  typedef unsigned short bytes;
};
#else
template <>
struct td_mask_memory<td_i32> {
  static constexpr int lanes = TAEDA_VEC_BYTES / 4;
  typedef unsigned char bytes __attribute__((vector_size(TAEDA_VEC_BYTES / 4)));
};
template <>
struct td_mask_memory<td_i64> {
  static constexpr int lanes = TAEDA_VEC_BYTES / 8;
  typedef unsigned char bytes __attribute__((vector_size(TAEDA_VEC_BYTES / 8)));
};
#endif

#if TAEDA_VEC_BYTES == 16
// All bytes of a small register fit one integer: every lane gets them and tests its own byte.
TD_FN td_i32 td_spread_bytes(unsigned word, td_i32*) {
  return (td_i32)((td_u32{} + word) & td_u32{0xff, 0xff00, 0xff0000, 0xff000000}) != 0;
}
TD_FN td_i64 td_spread_bytes(unsigned short word, td_i64*) {
  return (td_i64)((td_u64{} + word) & td_u64{0xff, 0xff00}) != 0;
}
TD_FN unsigned td_gather_bytes(td_i32 mask) {
  td_u64 bits = (td_u64)(mask & td_i32{1, 0x100, 0x10000, 0x1000000});
  td_ulong both = bits[0] | bits[1];
  return (unsigned)(both | (both >> 32));
}
TD_FN unsigned short td_gather_bytes(td_i64 mask) {
  td_i64 bits = mask & td_i64{1, 0x100};
  return (unsigned short)(bits[0] | bits[1]);
}
#else
template <class Bytes, class M>
TD_FN M td_spread_bytes(Bytes bytes, M*) {
  return __builtin_convertvector(bytes, M) != 0;
}
template <class M>
TD_FN typename td_mask_memory<M>::bytes td_gather_bytes(M mask) {
  return __builtin_convertvector(mask & 1, typename td_mask_memory<M>::bytes);
}
#endif
template <class M>
TD_FN M td_load_mask(const unsigned char* p) {
  if constexpr (td_mask_memory<M>::lanes == 1) {
    return p[0] != 0;
  } else {
    typename td_mask_memory<M>::bytes bytes;
    __builtin_memcpy(&bytes, p, sizeof(bytes));
    return td_spread_bytes(bytes, (M*)nullptr);
  }
}
template <class M>
TD_FN void td_store_mask(unsigned char* p, M mask) {
  if constexpr (td_mask_memory<M>::lanes == 1) {
    p[0] = mask ? 1 : 0;
  } else {
    auto bytes = td_gather_bytes(mask);
    __builtin_memcpy(p, &bytes, sizeof(bytes));
  }
}
template <class M>
TD_FN M td_load_mask_tail(const unsigned char* p, td_long n) {
  unsigned char buffer[td_mask_memory<M>::lanes] = {};
  for (int i = 0; i < n; ++i) buffer[i] = p[i];
  return td_load_mask<M>(buffer);
}
template <class M>
TD_FN void td_store_mask_tail(unsigned char* p, M mask, td_long n) {
  unsigned char buffer[td_mask_memory<M>::lanes];
  td_store_mask(buffer, mask);
  for (int i = 0; i < n; ++i) p[i] = buffer[i];
}

TAEDA_MATH_END
