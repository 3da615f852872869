// Number types and IEEE primitives under math.h: GCC vectors on the CPU, plain scalars on CUDA.
//
// Note [One arithmetic]. Every function of math.h is a template over its number type F and uses
// only operations that IEEE 754 rounds correctly (+ - * / sqrt fma, roundings, comparisons, bits).
// Built with -ffp-contract=off (CUDA: --fmad=false) all dialects therefore return the same bits. F
// is float or double everywhere, and on the CPU also td_f32 or td_f64, the vectors of one register.
//
// Literals must be written as S(1), never 1.0: a double literal would widen scalar float code.
#pragma once

#if defined(__CUDACC__)
#  define TAEDA_ISA cuda
#  define TD_FN static __device__ __forceinline__
#  define TD_SLOW_FN static __device__ __noinline__
#  define TD_MEMBER_FN __device__ __forceinline__
#  define TD_TABLE static __device__ const
#else
#  if defined(TD_CALLED_FUNCTIONS)  // Calls instead of copies: tests without optimization.
#    define TD_FN inline
#    define TD_MEMBER_FN inline
#  else
#    define TD_FN inline __attribute__((always_inline))
#    define TD_MEMBER_FN inline __attribute__((always_inline))
#  endif
#  define TD_SLOW_FN inline __attribute__((noinline))
#  define TD_TABLE static constexpr
// The build names the instruction set; generated code goes by the compiler's flags.
#  if !defined(TAEDA_ISA)
#    if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#      define TAEDA_ISA avx512
#      define TAEDA_VEC_BYTES 64
#    elif defined(__AVX2__) && defined(__FMA__)
#      define TAEDA_ISA avx2
#      define TAEDA_VEC_BYTES 32
#    elif defined(__aarch64__)
#      define TAEDA_ISA neon
#      define TAEDA_VEC_BYTES 16
#    else
#      define TAEDA_ISA generic
#      define TAEDA_VEC_BYTES 16
#    endif
#  endif
#endif

// The inline namespace carries the instruction set, so that a program with several builds of this
// header never shares a function between them.
#define TAEDA_MATH_BEGIN    \
  namespace taeda::kernel { \
  inline namespace TAEDA_ISA {
#define TAEDA_MATH_END \
  }                    \
  }

TAEDA_MATH_BEGIN

#if defined(__CUDACC__)
typedef long long td_long;
typedef unsigned long long td_ulong;
typedef float td_f32;
typedef double td_f64;
typedef int td_i32;
typedef unsigned td_u32;
typedef long long td_i64;
typedef unsigned long long td_u64;
typedef bool td_b32;
typedef bool td_b64;
#else
typedef long td_long;
typedef unsigned long td_ulong;
typedef float td_f32 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef double td_f64 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef int td_i32 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef unsigned td_u32 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef long td_i64 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef unsigned long td_u64 __attribute__((vector_size(TAEDA_VEC_BYTES)));
typedef td_i32 td_b32;
typedef td_i64 td_b64;
#endif

// td_traits<F>: the scalar type S, the integer type I of the same size and its scalar IS.
template <class F>
struct td_traits;
template <>
struct td_traits<float> {
  typedef float S;
  typedef int I;
  typedef int IS;
  static constexpr bool is_single = true;
  static constexpr bool is_vector = false;
};
template <>
struct td_traits<double> {
  typedef double S;
  typedef td_long I;
  typedef td_long IS;
  static constexpr bool is_single = false;
  static constexpr bool is_vector = false;
};
#if !defined(__CUDACC__)
template <>
struct td_traits<td_f32> {
  typedef float S;
  typedef td_i32 I;
  typedef int IS;
  static constexpr bool is_single = true;
  static constexpr bool is_vector = true;
};
template <>
struct td_traits<td_f64> {
  typedef double S;
  typedef td_i64 I;
  typedef long IS;
  static constexpr bool is_single = false;
  static constexpr bool is_vector = true;
};
#endif
template <class F>
constexpr bool td_is_single = td_traits<F>::is_single;

// Picks the constant of F's precision.
template <class F>
TD_FN constexpr typename td_traits<F>::S td_c(float single_value, double double_value) {
  if constexpr (td_is_single<F>)
    return single_value;
  else
    return double_value;
}
template <class F>
TD_FN constexpr typename td_traits<F>::IS td_ci(int single_value, td_long double_value) {
  if constexpr (td_is_single<F>)
    return single_value;
  else
    return double_value;
}

// Scalars.
#if defined(__CUDACC__)
#  define TD_RARE(condition) (condition)
TD_FN float td_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TD_FN double td_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
TD_FN float td_sqrt(float x) { return __fsqrt_rn(x); }
TD_FN double td_sqrt(double x) { return __dsqrt_rn(x); }
TD_FN int td_bits(float x) { return __float_as_int(x); }
TD_FN td_long td_bits(double x) { return __double_as_longlong(x); }
TD_FN float td_from_bits(int x) { return __int_as_float(x); }
TD_FN double td_from_bits(td_long x) { return __longlong_as_double(x); }
#else
#  define TD_RARE(condition) __builtin_expect(condition, 0)
TD_FN float td_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TD_FN double td_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TD_FN float td_sqrt(float x) { return __builtin_sqrtf(x); }
TD_FN double td_sqrt(double x) { return __builtin_sqrt(x); }
TD_FN int td_bits(float x) { return __builtin_bit_cast(int, x); }
TD_FN td_long td_bits(double x) { return __builtin_bit_cast(td_long, x); }
TD_FN float td_from_bits(int x) { return __builtin_bit_cast(float, x); }
TD_FN double td_from_bits(td_long x) { return __builtin_bit_cast(double, x); }
#endif
template <class F>
TD_FN typename td_traits<F>::S td_inf() {
  return td_from_bits(td_ci<F>(0x7f800000, 0x7ff0000000000000));
}
template <class F>
TD_FN typename td_traits<F>::S td_nan() {
  return td_from_bits(td_ci<F>(0x7fc00000, 0x7ff8000000000000));
}
TD_FN bool td_any(bool mask) { return mask; }
template <class F>
struct td_broadcast {
  TD_MEMBER_FN static F of(typename td_traits<F>::S value) { return value; }
};

#if !defined(__CUDACC__)
// Vectors. The builtins keep generated code free of the (large) intrinsics headers.
template <>
struct td_broadcast<td_f32> {
  TD_MEMBER_FN static td_f32 of(float value) { return value - td_f32{}; }
};
template <>
struct td_broadcast<td_f64> {
  TD_MEMBER_FN static td_f64 of(double value) { return value - td_f64{}; }
};
TD_FN td_i32 td_bits(td_f32 x) { return (td_i32)x; }
TD_FN td_i64 td_bits(td_f64 x) { return (td_i64)x; }
TD_FN td_f32 td_from_bits(td_i32 x) { return (td_f32)x; }
TD_FN td_f64 td_from_bits(td_i64 x) { return (td_f64)x; }
TD_FN bool td_any(td_i64 mask) {
  long any = 0;
  for (int i = 0; i < TAEDA_VEC_BYTES / 8; ++i) any |= mask[i];
  return any != 0;
}
TD_FN bool td_any(td_i32 mask) { return td_any((td_i64)mask); }

#  if TAEDA_VEC_BYTES == 16 && defined(__aarch64__) && !defined(__clang__)
TD_FN td_f32 td_fma(td_f32 a, td_f32 b, td_f32 c) { return __builtin_aarch64_fmav4sf(a, b, c); }
TD_FN td_f64 td_fma(td_f64 a, td_f64 b, td_f64 c) { return __builtin_aarch64_fmav2df(a, b, c); }
TD_FN td_f32 td_sqrt(td_f32 x) { return __builtin_aarch64_sqrtv4sf(x); }
TD_FN td_f64 td_sqrt(td_f64 x) { return __builtin_aarch64_sqrtv2df(x); }
TD_FN td_f32 td_floor(td_f32 x) { return __builtin_aarch64_floorv4sf(x); }
TD_FN td_f64 td_floor(td_f64 x) { return __builtin_aarch64_floorv2df(x); }
TD_FN td_f32 td_ceil(td_f32 x) { return __builtin_aarch64_ceilv4sf(x); }
TD_FN td_f64 td_ceil(td_f64 x) { return __builtin_aarch64_ceilv2df(x); }
TD_FN td_f32 td_trunc(td_f32 x) { return __builtin_aarch64_btruncv4sf(x); }
TD_FN td_f64 td_trunc(td_f64 x) { return __builtin_aarch64_btruncv2df(x); }
TD_FN td_f32 td_round(td_f32 x) { return __builtin_aarch64_roundevenv4sf(x); }
TD_FN td_f64 td_round(td_f64 x) { return __builtin_aarch64_roundevenv2df(x); }
TD_FN td_f32 td_clamp(td_f32 x, td_f32 low, td_f32 high) {
  return __builtin_aarch64_fmin_nanv4sf(__builtin_aarch64_fmax_nanv4sf(x, low), high);
}
TD_FN td_f64 td_clamp(td_f64 x, td_f64 low, td_f64 high) {
  return __builtin_aarch64_fmin_nanv2df(__builtin_aarch64_fmax_nanv2df(x, low), high);
}
#  elif TAEDA_VEC_BYTES == 32 && defined(__FMA__) && !defined(__clang__)
TD_FN td_f32 td_fma(td_f32 a, td_f32 b, td_f32 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
TD_FN td_f64 td_fma(td_f64 a, td_f64 b, td_f64 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
TD_FN td_f32 td_sqrt(td_f32 x) { return __builtin_ia32_sqrtps256(x); }
TD_FN td_f64 td_sqrt(td_f64 x) { return __builtin_ia32_sqrtpd256(x); }
TD_FN td_f32 td_floor(td_f32 x) { return __builtin_ia32_roundps256(x, 9); }
TD_FN td_f64 td_floor(td_f64 x) { return __builtin_ia32_roundpd256(x, 9); }
TD_FN td_f32 td_ceil(td_f32 x) { return __builtin_ia32_roundps256(x, 10); }
TD_FN td_f64 td_ceil(td_f64 x) { return __builtin_ia32_roundpd256(x, 10); }
TD_FN td_f32 td_trunc(td_f32 x) { return __builtin_ia32_roundps256(x, 11); }
TD_FN td_f64 td_trunc(td_f64 x) { return __builtin_ia32_roundpd256(x, 11); }
TD_FN td_f32 td_round(td_f32 x) { return __builtin_ia32_roundps256(x, 8); }
TD_FN td_f64 td_round(td_f64 x) { return __builtin_ia32_roundpd256(x, 8); }
TD_FN td_f32 td_max_second(td_f32 a, td_f32 b) { return __builtin_ia32_maxps256(a, b); }
TD_FN td_f64 td_max_second(td_f64 a, td_f64 b) { return __builtin_ia32_maxpd256(a, b); }
TD_FN td_f32 td_min_second(td_f32 a, td_f32 b) { return __builtin_ia32_minps256(a, b); }
TD_FN td_f64 td_min_second(td_f64 a, td_f64 b) { return __builtin_ia32_minpd256(a, b); }
#  elif TAEDA_VEC_BYTES == 64 && defined(__AVX512F__) && !defined(__clang__)
// The last argument 4 means "the rounding of the environment"; all lanes are active.
TD_FN td_f32 td_fma(td_f32 a, td_f32 b, td_f32 c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
}
TD_FN td_f64 td_fma(td_f64 a, td_f64 b, td_f64 c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
}
TD_FN td_f32 td_sqrt(td_f32 x) { return __builtin_ia32_sqrtps512_mask(x, x, -1, 4); }
TD_FN td_f64 td_sqrt(td_f64 x) { return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4); }
TD_FN td_f32 td_floor(td_f32 x) { return __builtin_ia32_rndscaleps_mask(x, 9, x, -1, 4); }
TD_FN td_f64 td_floor(td_f64 x) { return __builtin_ia32_rndscalepd_mask(x, 9, x, -1, 4); }
TD_FN td_f32 td_ceil(td_f32 x) { return __builtin_ia32_rndscaleps_mask(x, 10, x, -1, 4); }
TD_FN td_f64 td_ceil(td_f64 x) { return __builtin_ia32_rndscalepd_mask(x, 10, x, -1, 4); }
TD_FN td_f32 td_trunc(td_f32 x) { return __builtin_ia32_rndscaleps_mask(x, 11, x, -1, 4); }
TD_FN td_f64 td_trunc(td_f64 x) { return __builtin_ia32_rndscalepd_mask(x, 11, x, -1, 4); }
TD_FN td_f32 td_round(td_f32 x) { return __builtin_ia32_rndscaleps_mask(x, 8, x, -1, 4); }
TD_FN td_f64 td_round(td_f64 x) { return __builtin_ia32_rndscalepd_mask(x, 8, x, -1, 4); }
// x * 2^n, rounded once.
TD_FN td_f32 td_scale_float(td_f32 x, td_f32 n) {
  return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4);
}
TD_FN td_f64 td_scale_float(td_f64 x, td_f64 n) {
  return __builtin_ia32_scalefpd512_mask(x, n, x, -1, 4);
}
#    define TD_HAS_SCALE_FLOAT
TD_FN td_f32 td_max_second(td_f32 a, td_f32 b) {
  return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
}
TD_FN td_f64 td_max_second(td_f64 a, td_f64 b) {
  return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4);
}
TD_FN td_f32 td_min_second(td_f32 a, td_f32 b) {
  return __builtin_ia32_minps512_mask(a, b, a, -1, 4);
}
TD_FN td_f64 td_min_second(td_f64 a, td_f64 b) {
  return __builtin_ia32_minpd512_mask(a, b, a, -1, 4);
}
#  else
TD_FN td_f32 td_fma(td_f32 a, td_f32 b, td_f32 c) {
  td_f32 r;
  for (int i = 0; i < TAEDA_VEC_BYTES / 4; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
}
TD_FN td_f64 td_fma(td_f64 a, td_f64 b, td_f64 c) {
  td_f64 r;
  for (int i = 0; i < TAEDA_VEC_BYTES / 8; ++i) r[i] = __builtin_fma(a[i], b[i], c[i]);
  return r;
}
TD_FN td_f32 td_sqrt(td_f32 x) {
  td_f32 r;
  for (int i = 0; i < TAEDA_VEC_BYTES / 4; ++i) r[i] = __builtin_sqrtf(x[i]);
  return r;
}
TD_FN td_f64 td_sqrt(td_f64 x) {
  td_f64 r;
  for (int i = 0; i < TAEDA_VEC_BYTES / 8; ++i) r[i] = __builtin_sqrt(x[i]);
  return r;
}
#  endif
#endif  // !__CUDACC__

// Signs.
template <class F>
TD_FN F td_abs(F x) {
  return td_from_bits(td_bits(x) & td_ci<F>(0x7fffffff, 0x7fffffffffffffff));
}
template <class F>
TD_FN typename td_traits<F>::I td_sign_bits(F x) {
  return td_bits(x) & td_ci<F>(-0x7fffffff - 1, -0x7fffffffffffffff - 1);
}
template <class F>
TD_FN F td_copysign(F magnitude, F sign) {
  return td_from_bits(td_bits(td_abs(magnitude)) | td_sign_bits(sign));
}
// x with the sign of s multiplied in.
template <class F>
TD_FN F td_mulsign(F x, F s) {
  return td_from_bits(td_bits(x) ^ td_sign_bits(s));
}

// Roundings where no instruction is named above: adding 2^mantissa drops the fraction to even.
template <class F>
TD_FN F td_round(F x) {
  typedef typename td_traits<F>::S S;
  const S big = td_c<F>(0x1p23f, 0x1p52);
  F a = td_abs(x);
  F r = (a + big) - big;
  return a < big ? td_copysign(r, x) : x;
}
template <class F>
TD_FN F td_floor(F x) {
  typedef typename td_traits<F>::S S;
  F r = td_round(x);
  F below = r - S(1);
  return r > x ? below : r;
}
template <class F>
TD_FN F td_ceil(F x) {
  typedef typename td_traits<F>::S S;
  F r = td_round(x);
  F above = td_copysign(r + S(1), x);
  return r < x ? above : r;
}
template <class F>
TD_FN F td_trunc(F x) {
  return td_copysign(td_floor(td_abs(x)), x);
}

// The larger and the smaller number; b where they are equal or one is NaN. (An instruction of x86.)
template <class F>
TD_FN F td_max_second(F a, F b) {
  return a > b ? a : b;
}
template <class F>
TD_FN F td_min_second(F a, F b) {
  return a < b ? a : b;
}
// maximum and minimum are NaN if either argument is, fmax and fmin only if both are.
template <class F>
TD_FN F td_maximum(F a, F b) {
  return a != a ? a : td_max_second(a, b);
}
template <class F>
TD_FN F td_minimum(F a, F b) {
  return a != a ? a : td_min_second(a, b);
}
template <class F>
TD_FN F td_fmax(F a, F b) {
  return b != b ? a : td_max_second(a, b);
}
template <class F>
TD_FN F td_fmin(F a, F b) {
  return b != b ? a : td_min_second(a, b);
}
template <class F>
TD_FN auto td_isnan(F x) {
  return x != x;
}
template <class F>
TD_FN auto td_isinf(F x) {
  return td_abs(x) == td_inf<F>();
}
template <class F>
TD_FN auto td_isfinite(F x) {
  return td_abs(x) < td_inf<F>();
}

// x between low and high, which are numbers; NaN passes.
template <class F>
TD_FN F td_clamp(F x, F low, F high) {
  return td_min_second(high, td_max_second(low, x));
}

// An unevaluated sum hi + lo, |lo| at most half an ulp of hi after normalization.
template <class F>
struct td_pair {
  F hi, lo;
};
template <class F>
TD_FN td_pair<F> td_two_sum(F a, F b) {
  F s = a + b;
  F t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// Needs |a| >= |b| or a == 0.
template <class F>
TD_FN td_pair<F> td_fast_two_sum(F a, F b) {
  F s = a + b;
  return {s, b - (s - a)};
}
template <class F>
TD_FN td_pair<F> td_two_product(F a, F b) {
  F p = a * b;
  return {p, td_fma(a, b, -p)};
}
// The constant of F's precision in every lane.
template <class F>
TD_FN F td_k(float single_value, double double_value) {
  return td_broadcast<F>::of(td_c<F>(single_value, double_value));
}

// A polynomial, lowest coefficient first, as Horner's rule on pairs: half of its latency.
template <class F>
TD_FN F td_poly_pairs(F, F, typename td_traits<F>::S c0) {
  return td_broadcast<F>::of(c0);
}
template <class F>
TD_FN F td_poly_pairs(F x, F, typename td_traits<F>::S c0, typename td_traits<F>::S c1) {
  return td_fma(x, td_broadcast<F>::of(c1), td_broadcast<F>::of(c0));
}
template <class F, class... Rest>
TD_FN F td_poly_pairs(F x, F square, typename td_traits<F>::S c0, typename td_traits<F>::S c1,
                      typename td_traits<F>::S c2, Rest... rest) {
  F pair = td_fma(x, td_broadcast<F>::of(c1), td_broadcast<F>::of(c0));
  return td_fma(square, td_poly_pairs(x, square, c2, rest...), pair);
}
template <class F, class... C>
TD_FN F td_poly(F x, C... coefficients) {
  return td_poly_pairs(x, x * x, coefficients...);
}

TAEDA_MATH_END
