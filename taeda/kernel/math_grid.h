// Threads of a block together: reductions and scans along a row, atomic stores. CUDA only.
//
// A block's threads are `lanes` along a row and `slots` rows side by side; all of them call these
// functions together. Lanes lie along x (rows dense in memory) or along y (columns side by side).
#pragma once

#include "taeda/kernel/math_storage.h"

#if defined(__CUDACC__)
TAEDA_MATH_BEGIN

template <class A, class B>
constexpr bool td_is_same = false;
template <class A>
constexpr bool td_is_same<A, A> = true;

struct td_place {
  int lane, lanes, slot, slots;
  bool is_along_x;
};
TD_FN td_place td_rows_place() {
  return {(int)threadIdx.x, (int)blockDim.x, (int)threadIdx.y, (int)blockDim.y, true};
}
TD_FN td_place td_columns_place() {
  return {(int)threadIdx.y, (int)blockDim.y, (int)threadIdx.x, (int)blockDim.x, false};
}

// The remainder of `rest`, which becomes the quotient. 32-bit division is many times faster.
TD_FN td_long td_take(td_long& rest, td_long extent) {
  if (((td_ulong)rest | (td_ulong)extent) >> 32 == 0) {
    const unsigned quotient = (unsigned)rest / (unsigned)extent;
    const unsigned remainder = (unsigned)rest - quotient * (unsigned)extent;
    rest = quotient;
    return remainder;
  }
  const td_long quotient = rest / extent, remainder = rest - quotient * extent;
  rest = quotient;
  return remainder;
}

// Neighbouring elements that are read and written at once.
template <class Stored, int kCount>
struct alignas(sizeof(typename Stored::raw) * kCount) td_pack {
  typename Stored::raw items[kCount];
};
template <class Stored, int kCount>
TD_FN td_pack<Stored, kCount> td_read_pack(const void* p, td_long i) {
  return *(const td_pack<Stored, kCount>*)((const typename Stored::raw*)p + i);
}
template <class Stored, int kCount>
TD_FN void td_write_pack(void* p, td_long i, const td_pack<Stored, kCount>& pack) {
  *(td_pack<Stored, kCount>*)((typename Stored::raw*)p + i) = pack;
}

// The state of another thread of the warp.
template <class S>
TD_FN S td_shuffle_down(S value, int by) {
  S other;
  constexpr int kWords = (int)((sizeof(S) + 3) / 4);
  int words[kWords];
  memcpy(words, &value, sizeof(S));
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(0xffffffffu, words[i], by);
  memcpy(&other, words, sizeof(S));
  return other;
}

// Combines the states of a row's lanes, lower lanes first; every lane gets the result. `shared` has
// room for a state per thread.
template <class Body>
TD_FN typename Body::S td_join_lanes(typename Body::S value, const td_place& at, char* shared) {
  typedef typename Body::S S;
  S* states = (S*)shared;
  int width = at.lanes;
  if (at.is_along_x && at.lanes % 32 == 0) {
    for (int by = 16; by > 0; by /= 2) {
      const S other = td_shuffle_down(value, by);
      if ((at.lane & 31) + by < 32) value = Body::combine(value, other);
    }
    width = at.lanes / 32;
    if (at.lane % 32 == 0) states[(at.lane / 32) * at.slots + at.slot] = value;
  } else {
    states[at.lane * at.slots + at.slot] = value;
  }
  __syncthreads();
  for (int half = width / 2; half > 0; half /= 2) {
    if (at.lane < half)
      states[at.lane * at.slots + at.slot] = Body::combine(
          states[at.lane * at.slots + at.slot], states[(at.lane + half) * at.slots + at.slot]);
    __syncthreads();
  }
  const S result = states[at.slot];
  __syncthreads();
  return result;
}

// Reduces a row of n elements: lanes take every lanes-th one, four at a time.
template <class Body, class Element>
TD_FN typename Body::S td_reduce_row(const Element& element, td_long n, const td_place& at,
                                     char* shared) {
  typedef typename Body::S S;
  S parts[4];
  for (int u = 0; u < 4; ++u) parts[u] = Body::identity();
  td_long i = at.lane;
  for (; i + 3 * (td_long)at.lanes < n; i += 4 * (td_long)at.lanes) {
#  pragma unroll
    for (int u = 0; u < 4; ++u)
      parts[u] = Body::combine(parts[u], element(i + u * (td_long)at.lanes));
  }
  for (; i < n; i += at.lanes) parts[0] = Body::combine(parts[0], element(i));
  const S value =
      Body::combine(Body::combine(parts[0], parts[1]), Body::combine(parts[2], parts[3]));
  return td_join_lanes<Body>(value, at, shared);
}

// The running state of each lane's element, after all elements before it; `carry` is that of the
// lanes before this call and moves on.
template <class Body>
TD_FN typename Body::S td_scan_lanes(typename Body::S value, typename Body::S& carry,
                                     const td_place& at, char* shared) {
  typedef typename Body::S S;
  S* states = (S*)shared;
  states[at.lane * at.slots + at.slot] = value;
  __syncthreads();
  for (int by = 1; by < at.lanes; by *= 2) {
    S before = value;
    if (at.lane >= by) before = states[(at.lane - by) * at.slots + at.slot];
    __syncthreads();
    if (at.lane >= by) value = Body::combine(before, value);
    states[at.lane * at.slots + at.slot] = value;
    __syncthreads();
  }
  const S last = states[(at.lanes - 1) * at.slots + at.slot];
  __syncthreads();
  value = Body::combine(carry, value);
  carry = Body::combine(carry, last);
  return value;
}

// Replaces an element by f(old): words of 4 or 8 bytes as they are, narrower ones inside of their
// word.
template <class Raw, class F>
TD_FN void td_atomic_update(Raw* p, const F& f) {
  if constexpr (sizeof(Raw) == 8) {
    unsigned long long* word = (unsigned long long*)p;
    unsigned long long seen = *word, expected;
    do {
      expected = seen;
      Raw old, made;
      memcpy(&old, &expected, 8);
      made = f(old);
      unsigned long long next;
      memcpy(&next, &made, 8);
      seen = atomicCAS(word, expected, next);
    } while (seen != expected);
  } else {
    const td_ulong address = (td_ulong)p;
    const int shift = (int)(address & 3) * 8;
    unsigned* word = (unsigned*)(address & ~(td_ulong)3);
    unsigned seen = *word, expected;
    do {
      expected = seen;
      Raw old, made;
      const unsigned part = expected >> shift;
      memcpy(&old, &part, sizeof(Raw));
      made = f(old);
      unsigned next = 0;
      memcpy(&next, &made, sizeof(Raw));
      const unsigned mask = sizeof(Raw) == 4 ? 0xffffffffu : ((1u << (8 * sizeof(Raw))) - 1);
      next = (expected & ~(mask << shift)) | (next << shift);
      seen = atomicCAS(word, expected, next);
    } while (seen != expected);
  }
}

template <class Stored, class S, class Combine>
TD_FN void td_atomic(void* p, td_long i, S value, const Combine& combine) {
  typedef typename Stored::raw raw;
  td_atomic_update((raw*)p + i, [&](raw old) {
    return (raw)Stored::to(combine(Stored::template from<S>(old), value));
  });
}
template <class Stored, class S>
TD_FN void td_atomic_add(void* p, td_long i, S value) {
  if constexpr (td_is_same<Stored, td_float32>)
    atomicAdd((float*)p + i, value);
  else if constexpr (td_is_same<Stored, td_float64>)
    atomicAdd((double*)p + i, value);
  else if constexpr (td_is_same<Stored, td_int64> || td_is_same<Stored, td_uint64>)
    atomicAdd((unsigned long long*)p + i, (unsigned long long)value);
  else if constexpr (td_is_same<Stored, td_complex64>) {
    atomicAdd((float*)p + 2 * i, value.re);
    atomicAdd((float*)p + 2 * i + 1, value.im);
  } else if constexpr (td_is_same<Stored, td_complex128>) {
    atomicAdd((double*)p + 2 * i, value.re);
    atomicAdd((double*)p + 2 * i + 1, value.im);
  } else
    td_atomic<Stored, S>(p, i, value, [](S a, S b) { return a + b; });
}

TAEDA_MATH_END
#endif
