// Atomic additions of every element type a kernel dispatches over.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "ATen/core_names.h"

static inline __device__ double gpuAtomicAdd(double* at, double v) { return atomicAdd(at, v); }
static inline __device__ float gpuAtomicAdd(float* at, float v) { return atomicAdd(at, v); }
static inline __device__ int32_t gpuAtomicAdd(int32_t* at, int32_t v) { return atomicAdd(at, v); }
static inline __device__ int64_t gpuAtomicAdd(int64_t* at, int64_t v) {
  using Word = unsigned long long;
  return static_cast<int64_t>(atomicAdd(reinterpret_cast<Word*>(at), static_cast<Word>(v)));
}
static inline __device__::taeda::Half gpuAtomicAdd(::taeda::Half* at, ::taeda::Half v) {
  const __half old = atomicAdd(reinterpret_cast<__half*>(at), __ushort_as_half(v.bits));
  return ::taeda::Half::from_bits(__half_as_ushort(old));
}
static inline __device__::taeda::BFloat16 gpuAtomicAdd(::taeda::BFloat16* at, ::taeda::BFloat16 v) {
  const __nv_bfloat16 old =
      atomicAdd(reinterpret_cast<__nv_bfloat16*>(at), __ushort_as_bfloat16(v.bits));
  return ::taeda::BFloat16::from_bits(__bfloat16_as_ushort(old));
}
template <class T>
__device__ void gpuAtomicAddNoReturn(T* at, T v) {
  gpuAtomicAdd(at, v);
}
