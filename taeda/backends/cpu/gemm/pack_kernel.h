// Packing: lanes of a strided operand into panels that the micro-kernel reads front to back.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// 16 bytes of panel elements: the unit in which lanes are copied and transposed on every set.
template <class P>
struct Quad;
template <>
struct Quad<float> {
  typedef float V __attribute__((vector_size(16)));
};
template <>
struct Quad<double> {
  typedef double V __attribute__((vector_size(16)));
};
template <>
struct Quad<uint64_t> {
  typedef uint64_t V __attribute__((vector_size(16)));
};
template <>
struct Quad<uint32_t> {
  typedef uint32_t V __attribute__((vector_size(16)));
};
template <>
struct Quad<uint16_t> {
  typedef uint16_t V __attribute__((vector_size(16)));
};
template <>
struct Quad<uint8_t> {
  typedef uint8_t V __attribute__((vector_size(16)));
};
template <class T>
using QuadOf = typename Quad<PartOf<T>>::V;

template <class T>
[[gnu::always_inline]] inline QuadOf<T> load_quad(const T* p) {
  QuadOf<T> v{};
  if constexpr (std::is_same_v<T, BFloat16>) {
#if defined(__aarch64__)
    v = (QuadOf<T>)vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p)), 16);
#elif defined(__AVX2__)
    v = (QuadOf<T>)_mm_slli_epi32(
        _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))), 16);
#else
    for (int i = 0; i < 4; ++i) v[i] = widen(p[i]);
#endif
  } else if constexpr (std::is_same_v<T, Half>) {
#if defined(__aarch64__)
    v = (QuadOf<T>)vcvt_f32_f16(
        vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
#elif defined(__F16C__)
    v = (QuadOf<T>)_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#else
    for (int i = 0; i < 4; ++i) v[i] = widen(p[i]);
#endif
  } else {
    __builtin_memcpy(&v, p, sizeof v);
  }
  return v;
}

template <class P, class V>
[[gnu::always_inline]] inline void store_quad(P* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Four lanes of four (two of two for 8-byte parts), read along k, written along the lanes.
template <class T>
[[gnu::always_inline]] inline void transpose_quads(const T* src, int64_t lane_stride,
                                                   PartOf<T>* dst, int64_t width) {
  using V = QuadOf<T>;
  if constexpr (sizeof(PartOf<T>) == 8) {
    typedef int64_t I __attribute__((vector_size(16)));
    const V r0 = load_quad(src), r1 = load_quad(src + lane_stride);
    store_quad(dst, __builtin_shuffle(r0, r1, I{0, 2}));
    store_quad(dst + width, __builtin_shuffle(r0, r1, I{1, 3}));
  } else {
    typedef int32_t I __attribute__((vector_size(16)));
    const V r0 = load_quad(src), r1 = load_quad(src + lane_stride);
    const V r2 = load_quad(src + 2 * lane_stride), r3 = load_quad(src + 3 * lane_stride);
    const V lo02 = __builtin_shuffle(r0, r2, I{0, 4, 1, 5});
    const V lo13 = __builtin_shuffle(r1, r3, I{0, 4, 1, 5});
    const V hi02 = __builtin_shuffle(r0, r2, I{2, 6, 3, 7});
    const V hi13 = __builtin_shuffle(r1, r3, I{2, 6, 3, 7});
    store_quad(dst, __builtin_shuffle(lo02, lo13, I{0, 4, 1, 5}));
    store_quad(dst + width, __builtin_shuffle(lo02, lo13, I{2, 6, 3, 7}));
    store_quad(dst + 2 * width, __builtin_shuffle(hi02, hi13, I{0, 4, 1, 5}));
    store_quad(dst + 3 * width, __builtin_shuffle(hi02, hi13, I{2, 6, 3, 7}));
  }
}

// Two lanes of four, for 4-byte parts.
template <class T>
[[gnu::always_inline]] inline void transpose_pair(const T* src, int64_t lane_stride, PartOf<T>* dst,
                                                  int64_t width) {
  typedef int32_t I __attribute__((vector_size(16)));
  const QuadOf<T> r0 = load_quad(src), r1 = load_quad(src + lane_stride);
  const QuadOf<T> lines[2] = {__builtin_shuffle(r0, r1, I{0, 4, 1, 5}),
                              __builtin_shuffle(r0, r1, I{2, 6, 3, 7})};
  const char* bytes = reinterpret_cast<const char*>(lines);
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p) __builtin_memcpy(dst + p * width, bytes + 8 * p, 8);
}

#if defined(__AVX512F__)
// At most 16 lanes of 16, for 4-byte parts that are stored as they come.
template <int lanes, class T>
[[gnu::always_inline]] inline void transpose_lines(const T* src, int64_t lane_stride, T* dst,
                                                   int64_t width) {
  static_assert(sizeof(T) == 4 && lanes <= 16);
  // The plain forms of these instructions read an undefined register, of which compilers warn.
  constexpr __mmask16 kAll16 = 0xffff;
  constexpr __mmask8 kAll8 = 0xff;
  __m512 row[16], pair[16], quad[4][4];
#  pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    row[i] = i < lanes ? _mm512_loadu_ps(src + i * lane_stride) : _mm512_setzero_ps();
#  pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_maskz_unpacklo_ps(kAll16, row[i], row[i + 1]);
    pair[i + 1] = _mm512_maskz_unpackhi_ps(kAll16, row[i], row[i + 1]);
  }
  // quad[g][j] holds rows 4g to 4g + 3 of column 4b + j in its b-th 16 bytes.
#  pragma GCC unroll 4
  for (int g = 0; g < 4; ++g)
#  pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m512d low = _mm512_castps_pd(pair[4 * g + half]);
      const __m512d high = _mm512_castps_pd(pair[4 * g + 2 + half]);
      quad[g][2 * half] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(kAll8, low, high));
      quad[g][2 * half + 1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(kAll8, low, high));
    }
  const auto put = [&](int column, __m512 line) __attribute__((always_inline)) {
    _mm512_mask_storeu_ps(dst + column * width, static_cast<__mmask16>((1u << lanes) - 1), line);
  };
#  pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 low01 = _mm512_maskz_shuffle_f32x4(kAll16, quad[0][j], quad[1][j], 0x44);
    const __m512 high01 = _mm512_maskz_shuffle_f32x4(kAll16, quad[0][j], quad[1][j], 0xee);
    const __m512 low23 = _mm512_maskz_shuffle_f32x4(kAll16, quad[2][j], quad[3][j], 0x44);
    const __m512 high23 = _mm512_maskz_shuffle_f32x4(kAll16, quad[2][j], quad[3][j], 0xee);
    put(j, _mm512_maskz_shuffle_f32x4(kAll16, low01, low23, 0x88));
    put(4 + j, _mm512_maskz_shuffle_f32x4(kAll16, low01, low23, 0xdd));
    put(8 + j, _mm512_maskz_shuffle_f32x4(kAll16, high01, high23, 0x88));
    put(12 + j, _mm512_maskz_shuffle_f32x4(kAll16, high01, high23, 0xdd));
  }
}
#endif

template <class T>
[[gnu::always_inline]] inline void put_element(const T& x, PartOf<T>* dst, int width) {
  if constexpr (kParts<T> == 2) {
    dst[0] = x.re;
    dst[width] = x.im;
  } else {
    dst[0] = widen(x);
  }
}

// Lanes [first, last) of one panel, element by element, zero beyond `lanes`.
template <class T>
void pack_lanes(int first, int last, int lanes, int64_t k, const T* src, int64_t lane_stride,
                int64_t k_stride, int width, PartOf<T>* dst) {
  const int64_t line = static_cast<int64_t>(width) * kParts<T>;
  if (lane_stride == 1 && k_stride != 1) {
    for (int64_t p = 0; p < k; ++p)
      for (int j = first; j < last; ++j)
        put_element(j < lanes ? src[p * k_stride + j] : T{}, dst + p * line + j, width);
    return;
  }
  for (int j = first; j < last; ++j) {
    if (j < lanes) {
      const T* lane = src + j * lane_stride;
      for (int64_t p = 0; p < k; ++p) put_element(lane[p * k_stride], dst + p * line + j, width);
    } else {
      for (int64_t p = 0; p < k; ++p) put_element(T{}, dst + p * line + j, width);
    }
  }
}

// One line of a panel whose lanes are adjacent in memory.
template <class T, int width>
[[gnu::always_inline]] inline void pack_line(const T* from, PartOf<T>* to) {
  if constexpr (std::is_same_v<T, PartOf<T>>) {
    __builtin_memcpy(to, from, width * sizeof(T));
  } else {
    constexpr int N = 16 / sizeof(PartOf<T>), whole = width / N * N;
#pragma GCC unroll 8
    for (int j = 0; j < whole; j += N) store_quad(to + j, load_quad(from + j));
    for (int j = whole; j < width; ++j) to[j] = widen(from[j]);
  }
}

// Whole panels whose lanes are adjacent in memory. A group of panels is walked row by row, so that
// each row of the operand is read in long runs.
template <class T, int width>
void pack_adjacent_lanes(int64_t panels, int64_t k, const T* src, int64_t k_stride,
                         PartOf<T>* dst) {
  constexpr int kGroup = 8;
  const int64_t panel_size = width * k;
  for (int64_t q0 = 0; q0 < panels; q0 += kGroup) {
    const int64_t q1 = q0 + kGroup < panels ? q0 + kGroup : panels;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t q = q0; q < q1; ++q)
        pack_line<T, width>(src + p * k_stride + q * width, dst + q * panel_size + p * width);
  }
}

// How many lanes of `width` can be transposed: all but an odd rest.
template <class T, int width>
constexpr int kTransposedLanes = [] {
  constexpr int N = 16 / sizeof(PartOf<T>);
  return N == 4 ? width / 2 * 2 : width / N * N;
}();

// `steps` steps of depth of a panel whose lanes run along k in memory.
template <class T, int width, int steps>
[[gnu::always_inline]] inline void pack_transposed_steps(const T* src, int64_t lane_stride,
                                                         PartOf<T>* dst) {
  constexpr int N = 16 / sizeof(PartOf<T>), quads = width / N * N;
  for (int j = 0; j < quads; j += N) {
#pragma GCC unroll 8
    for (int p = 0; p < steps; p += N)
      transpose_quads(src + j * lane_stride + p, lane_stride, dst + p * width + j, width);
  }
  if constexpr (quads < kTransposedLanes<T, width>) {
#pragma GCC unroll 8
    for (int p = 0; p < steps; p += N)
      transpose_pair(src + quads * lane_stride + p, lane_stride, dst + p * width + quads, width);
  }
}

// One whole such panel. Where lanes lie whole pages apart, their cache lines would push each other
// out: then a few lanes at a time are read by the line.
template <class T, int width>
void pack_transposed_lanes(int64_t k, const T* src, int64_t lane_stride, PartOf<T>* dst) {
  constexpr int N = 16 / sizeof(PartOf<T>), kLine = 64 / sizeof(T);
  constexpr int lanes = kTransposedLanes<T, width>;
  int64_t p = 0;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, PartOf<T>> && sizeof(T) == 4 && lanes == width)
    for (; p + 16 <= k; p += 16) {
      constexpr int rest = width % 16;
      int j = 0;
      for (; j + 16 <= width; j += 16)
        transpose_lines<16>(src + j * lane_stride + p, lane_stride, dst + p * width + j, width);
      if constexpr (rest > 0)
        transpose_lines<rest>(src + j * lane_stride + p, lane_stride, dst + p * width + j, width);
    }
#endif
  if (lane_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0)
    for (; p + kLine <= k; p += kLine)
      pack_transposed_steps<T, width, kLine>(src + p, lane_stride, dst + p * width);
  for (; p + N <= k; p += N)
    pack_transposed_steps<T, width, N>(src + p, lane_stride, dst + p * width);
  if (p < k)
    pack_lanes(0, lanes, lanes, k - p, src + p, lane_stride, int64_t{1}, width, dst + p * width);
  if (lanes < width) pack_lanes(lanes, width, width, k, src, lane_stride, int64_t{1}, width, dst);
}

// See Kernels::transpose.
template <class T>
void transpose_lanes(int64_t n, int64_t k, const T* src, int64_t lane_stride, T* dst) {
  constexpr int N = 16 / sizeof(T);
  const auto copy = [&](int64_t j, int64_t first) {
    for (int64_t p = first; p < k; ++p) dst[p * n + j] = src[j * lane_stride + p];
  };
  const int64_t whole = k / N * N;
  int64_t j = 0;
  for (; j + N <= n; j += N) {
    for (int64_t p = 0; p < whole; p += N)
      transpose_quads(src + j * lane_stride + p, lane_stride, dst + p * n + j, n);
    for (int i = 0; i < N; ++i) copy(j + i, whole);
  }
  for (; j < n; ++j) copy(j, 0);
}

template <class T, int width>
void pack_width(int64_t extent, int64_t k, const T* src, int64_t lane_stride, int64_t k_stride,
                PartOf<T>* dst) {
  const int64_t whole = extent / width, panel_size = width * k * kParts<T>;
  int64_t q = 0;
  if constexpr (kParts<T> == 1) {
    if (lane_stride == 1) {
      pack_adjacent_lanes<T, width>(whole, k, src, k_stride, dst);
      q = whole;
    } else if constexpr (sizeof(PartOf<T>) >= 4) {
      if (k_stride == 1)
        for (; q < whole; ++q)
          pack_transposed_lanes<T, width>(k, src + q * width * lane_stride, lane_stride,
                                          dst + q * panel_size);
    }
  }
  for (; q * width < extent; ++q) {
    const int64_t left = extent - q * width;
    pack_lanes(0, width, left < width ? static_cast<int>(left) : width, k,
               src + q * width * lane_stride, lane_stride, k_stride, width, dst + q * panel_size);
  }
}

// See Kernels::pack; width is MR or NR.
template <class T, int MR, int NR>
void pack_panels(int64_t extent, int64_t k, const T* src, int64_t lane_stride, int64_t k_stride,
                 int width, PartOf<T>* dst) {
  if (width == NR)
    pack_width<T, NR>(extent, k, src, lane_stride, k_stride, dst);
  else
    pack_width<T, MR>(extent, k, src, lane_stride, k_stride, dst);
}

}  // namespace
}  // namespace taeda::cpu::gemm_kernels
