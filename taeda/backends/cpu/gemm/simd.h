// Vectors of one register for the kernels of an instruction set: load, store, splat, multiply-add.
//
// Included only by sources compiled once per instruction set. Everything here has internal linkage:
// the same name means different code in each of them, and the linker must not merge it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "taeda/base/half.h"

#if defined(__aarch64__)
#  include <arm_neon.h>
#elif defined(__AVX2__)
#  include <immintrin.h>
#endif

namespace taeda::cpu::gemm_kernels {
namespace {

template <class P>
struct Simd;

#define TAEDA_GEMM_SIMD(P)                                                                     \
  template <>                                                                                  \
  struct Simd<P> {                                                                             \
    typedef P V __attribute__((vector_size(TAEDA_VEC_BYTES)));                                 \
    static constexpr int width = TAEDA_VEC_BYTES / sizeof(P);                                  \
    [[gnu::always_inline]] static V load(const P* p) {                                         \
      V v;                                                                                     \
      __builtin_memcpy(&v, p, sizeof v);                                                       \
      return v;                                                                                \
    }                                                                                          \
    [[gnu::always_inline]] static void store(P* p, V v) { __builtin_memcpy(p, &v, sizeof v); } \
    [[gnu::always_inline]] static V splat(P x) { return x - V{}; }                             \
    [[gnu::always_inline]] static P sum(V v) {                                                 \
      P total = v[0];                                                                          \
      for (int i = 1; i < width; ++i) total = static_cast<P>(total + v[i]);                    \
      return total;                                                                            \
    }                                                                                          \
  };
TAEDA_GEMM_SIMD(float)
TAEDA_GEMM_SIMD(double)
TAEDA_GEMM_SIMD(uint64_t)
TAEDA_GEMM_SIMD(uint32_t)
TAEDA_GEMM_SIMD(uint16_t)
TAEDA_GEMM_SIMD(uint8_t)
#undef TAEDA_GEMM_SIMD

// a * b + c: fused where the instruction set has it, two roundings in the generic set.
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
  return a * b + c;
}
#if defined(__aarch64__)
template <>
[[gnu::always_inline]] inline Simd<float>::V multiply_add(Simd<float>::V a, Simd<float>::V b,
                                                          Simd<float>::V c) {
  return (Simd<float>::V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
template <>
[[gnu::always_inline]] inline Simd<double>::V multiply_add(Simd<double>::V a, Simd<double>::V b,
                                                           Simd<double>::V c) {
  return (Simd<double>::V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}

// A load that GCC keeps whole; it would split one from memcpy into the scalars that are used.
[[gnu::always_inline]] inline float32x4_t load_column(const float* p) { return vld1q_f32(p); }
[[gnu::always_inline]] inline float64x2_t load_column(const double* p) { return vld1q_f64(p); }

// a * b[lane] + c; lane is a constant once inlined.
[[gnu::always_inline]] inline Simd<float>::V multiply_add_lane(Simd<float>::V a, float32x4_t b,
                                                               int lane, Simd<float>::V c) {
  return (Simd<float>::V)vfmaq_laneq_f32((float32x4_t)c, (float32x4_t)a, b, lane);
}
[[gnu::always_inline]] inline Simd<double>::V multiply_add_lane(Simd<double>::V a, float64x2_t b,
                                                                int lane, Simd<double>::V c) {
  return (Simd<double>::V)vfmaq_laneq_f64((float64x2_t)c, (float64x2_t)a, b, lane);
}

// c - a * b[lane].
[[gnu::always_inline]] inline Simd<float>::V multiply_sub_lane(Simd<float>::V a, float32x4_t b,
                                                               int lane, Simd<float>::V c) {
  return (Simd<float>::V)vfmsq_laneq_f32((float32x4_t)c, (float32x4_t)a, b, lane);
}
[[gnu::always_inline]] inline Simd<double>::V multiply_sub_lane(Simd<double>::V a, float64x2_t b,
                                                                int lane, Simd<double>::V c) {
  return (Simd<double>::V)vfmsq_laneq_f64((float64x2_t)c, (float64x2_t)a, b, lane);
}
#elif defined(__AVX512F__)
template <>
[[gnu::always_inline]] inline Simd<float>::V multiply_add(Simd<float>::V a, Simd<float>::V b,
                                                          Simd<float>::V c) {
  return (Simd<float>::V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
template <>
[[gnu::always_inline]] inline Simd<double>::V multiply_add(Simd<double>::V a, Simd<double>::V b,
                                                           Simd<double>::V c) {
  return (Simd<double>::V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__AVX2__)
template <>
[[gnu::always_inline]] inline Simd<float>::V multiply_add(Simd<float>::V a, Simd<float>::V b,
                                                          Simd<float>::V c) {
  return (Simd<float>::V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
template <>
[[gnu::always_inline]] inline Simd<double>::V multiply_add(Simd<double>::V a, Simd<double>::V b,
                                                           Simd<double>::V c) {
  return (Simd<double>::V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#endif

// One element as accumulator.
template <class T>
[[gnu::always_inline]] inline T widen(T x) {
  return x;
}
[[gnu::always_inline]] inline float widen(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}
[[gnu::always_inline]] inline float widen(Half x) {
#if defined(__F16C__)
  return _cvtsh_ss(x.bits);
#else
  return static_cast<float>(x);
#endif
}

// line * x + c. On NEON x stays a scalar: a splat would occupy a multiply pipe.
template <class P>
[[gnu::always_inline]] inline typename Simd<P>::V multiply_add_scalar(typename Simd<P>::V line, P x,
                                                                      typename Simd<P>::V c) {
  using V [[maybe_unused]] = typename Simd<P>::V;
#if defined(__aarch64__)
  if constexpr (std::is_same_v<P, float>)
    return (V)vfmaq_n_f32((float32x4_t)c, (float32x4_t)line, x);
  else if constexpr (std::is_same_v<P, double>)
    return (V)vfmaq_n_f64((float64x2_t)c, (float64x2_t)line, x);
  else
#endif
    return multiply_add(Simd<P>::splat(x), line, c);
}

// Reads two vectors of accumulators from stored elements, converting the half types.
template <class V>
struct Pair {
  V first, second;
};

template <class T>
struct Load {
  using S = Simd<T>;
  [[gnu::always_inline]] static Pair<typename S::V> pair(const T* p) {
    return {S::load(p), S::load(p + S::width)};
  }
};

// The masked AVX-512 forms are those whose headers GCC 12 compiles without a warning.
template <>
struct Load<BFloat16> {
  using V = Simd<float>::V;
  [[gnu::always_inline]] static Pair<V> pair(const BFloat16* p) {
#if defined(__aarch64__)
    const uint16x8_t narrow = vld1q_u16(reinterpret_cast<const uint16_t*>(p));
    return {(V)vshll_n_u16(vget_low_u16(narrow), 16), (V)vshll_high_n_u16(narrow, 16)};
#else
    return {vector(p), vector(p + Simd<float>::width)};
  }
  [[gnu::always_inline]] static V vector(const BFloat16* p) {
#  if defined(__AVX512F__)
    const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return (V)((Simd<uint32_t>::V)_mm512_maskz_cvtepu16_epi32(0xffff, narrow) << 16);
#  elif defined(__AVX2__)
    return (V)_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16);
#  else
    V v{};
    for (int i = 0; i < Simd<float>::width; ++i) v[i] = widen(p[i]);
    return v;
#  endif
#endif
  }
};

template <>
struct Load<Half> {
  using V = Simd<float>::V;
  [[gnu::always_inline]] static Pair<V> pair(const Half* p) {
#if defined(__aarch64__)
    const float16x8_t narrow =
        vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(p)));
    return {(V)vcvt_f32_f16(vget_low_f16(narrow)), (V)vcvt_high_f32_f16(narrow)};
#else
    return {vector(p), vector(p + Simd<float>::width)};
  }
  [[gnu::always_inline]] static V vector(const Half* p) {
#  if defined(__AVX512F__)
    return (V)_mm512_maskz_cvtph_ps(0xffff,
                                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#  elif defined(__F16C__)
    return (V)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#  else
    V v{};
    for (int i = 0; i < Simd<float>::width; ++i) v[i] = widen(p[i]);
    return v;
#  endif
#endif
  }
};

// x * y in the element type; the language would widen the small integers to int, which overflows.
template <class T>
[[gnu::always_inline]] inline T multiply(T x, T y) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) < sizeof(unsigned))
    return static_cast<T>(static_cast<unsigned>(x) * static_cast<unsigned>(y));
  else
    return x * y;
}

// An accumulator as element, rounded to nearest even.
template <class T>
struct Narrow {
  [[gnu::always_inline]] static T from(T x) { return x; }
};
template <>
struct Narrow<BFloat16> {
  [[gnu::always_inline]] static BFloat16 from(float x) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    BFloat16 r;
    r.bits = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
    return r;
  }
};
template <>
struct Narrow<Half> {
  [[gnu::always_inline]] static Half from(float x) {
#if defined(__F16C__)
    Half r;
    r.bits = _cvtss_sh(x, 0);
    return r;
#else
    return Half(x);
#endif
  }
};

}  // namespace
}  // namespace taeda::cpu::gemm_kernels
