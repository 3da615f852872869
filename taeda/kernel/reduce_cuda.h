// The reduction tree on a block of threads; part of the CUDA prelude only.
#pragma once

#include "taeda/kernel/reduce_tree.h"

TAEDA_MATH_BEGIN

// td_reduce_run of the whole block: groups of L threads take a chunk each, one thread per lane, and
// the first thread runs the cascade. All 256 threads call it and get the result.
template <class Combine, class S, class Source>
TD_FN S td_reduce_block(const Source& source, td_long n, S identity) {
  constexpr int kLanes = kReduceLanes<S>;
  constexpr int kGroups = 256 / kLanes;
  __shared__ S lanes[256];
  __shared__ S result;
  const int lane = threadIdx.x % kLanes;
  const int group = threadIdx.x / kLanes;
  td_long chunks = n <= kReduceChunk ? 1 : (n + kReduceChunk - 1) / kReduceChunk;
  td_cascade<Combine, S> cascade;
  for (td_long base = 0; base < chunks; base += kGroups) {
    td_long begin = (base + group) * kReduceChunk;
    td_long end = begin + kReduceChunk < n ? begin + kReduceChunk : n;
    S value = identity;
    for (td_long i = begin + lane; i < end; i += kLanes) {
      value = Combine::apply(value, source.scalar(i));
    }
    lanes[threadIdx.x] = value;
    __syncthreads();
    for (int half = kLanes / 2; half > 0; half /= 2) {
      if (lane < half) lanes[threadIdx.x] = Combine::apply(value, lanes[threadIdx.x + half]);
      __syncthreads();
      value = lanes[threadIdx.x];
    }
    if (threadIdx.x == 0) {
      for (int g = 0; g < kGroups && base + g < chunks; ++g) cascade.push(lanes[g * kLanes]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) result = cascade.finish();
  __syncthreads();
  S value = result;
  __syncthreads();
  return value;
}

TAEDA_MATH_END
