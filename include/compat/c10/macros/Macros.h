// Hints for compilers, and visibility of symbols.
#pragma once

#ifdef __CUDACC__
#  define C10_HOST_DEVICE __host__ __device__
#  define C10_DEVICE __device__
#  define C10_HOST __host__
#else
#  define C10_HOST_DEVICE
#  define C10_DEVICE
#  define C10_HOST
#endif
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_API C10_EXPORT
#define TORCH_API C10_EXPORT
#define TORCH_CUDA_CPP_API C10_EXPORT
#define TORCH_CUDA_CU_API C10_EXPORT
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_RESTRICT __restrict
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __COUNTER__)
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
