// The micro-kernel: one register tile of C from two packed panels, and the tile's way into C.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// Steps of depth by which the panel of A, which comes from L2, is fetched ahead.
constexpr int kPrefetch = 16;
// With the wide registers of x86 the panels come so fast that other fetches, all at once, would
// hold them up: the lines of the tile of C, then those of `ahead`, are spread over the steps of
// depth. Elsewhere the short loops cost more, so C is fetched at once and `ahead` is left alone.
#if defined(__aarch64__)
constexpr bool kSpreadsFetches = false;
#else
constexpr bool kSpreadsFetches = true;
#endif
constexpr int kStepsPerLine = 2;
// Two panels with lines of 64 bytes fill L1, more so where two threads share a core, so the panel
// of B is fetched ahead as well. Narrower panels stay in L1.
constexpr int kPrefetchB = TAEDA_VEC_BYTES == 64 ? 8 : 0;

// One step of depth: acc[i][j] += a[i] * line[j].
template <class P, int MR, int NV>
[[gnu::always_inline]] inline void rank_one_update(typename Simd<P>::V (&acc)[MR][NV], const P* a,
                                                   const typename Simd<P>::V (&line)[NV]) {
  using V = typename Simd<P>::V;
#if defined(__aarch64__)
  constexpr int W = Simd<P>::width;
  // Whole vectors of a, multiplied by element: fewer loads, and no register for each splat.
  if constexpr (std::is_floating_point_v<P> && MR % W == 0) {
#  pragma GCC unroll 16
    for (int i = 0; i < MR; i += W) {
      const auto column = load_column(a + i);
#  pragma GCC unroll 4
      for (int lane = 0; lane < W; ++lane)
#  pragma GCC unroll 8
        for (int j = 0; j < NV; ++j)
          acc[i + lane][j] = multiply_add_lane(line[j], column, lane, acc[i + lane][j]);
    }
    return;
  }
#endif
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
    const V x = Simd<P>::splat(a[i]);
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) acc[i][j] = multiply_add(x, line[j], acc[i][j]);
  }
}

// A tile of MR rows by NV vectors, from a panel of A that is `width` rows wide.
template <class P, int MR, int width, int NV>
void real_tile(int64_t k, const P* a, const P* b, P alpha, P beta, P* c, int64_t c_row_stride,
               Ahead ahead) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width, kLine = 64 / sizeof(P), kRowLines = (NV * W + kLine - 1) / kLine;
  V acc[MR][NV] = {};
  const auto steps = [&](int64_t count) __attribute__((always_inline)) {
    for (int64_t p = 0; p < count; ++p) {
      __builtin_prefetch(a + kPrefetch * width);
      if constexpr (kPrefetchB > 0)
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) __builtin_prefetch(b + kPrefetchB * NV * W + j * W);
      V line[NV];
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) line[j] = S::load(b + j * W);
      rank_one_update<P, MR, NV>(acc, a, line);
      a += width;
      b += NV * W;
    }
  };
  const auto fetch_c = [&](int64_t line) __attribute__((always_inline)) {
    __builtin_prefetch(c + line / kRowLines * c_row_stride + line % kRowLines * kLine, 1);
  };
  if constexpr (!kSpreadsFetches) {
    for (int64_t line = 0; line < MR * kRowLines; ++line) fetch_c(line);
    steps(k);
  } else {
    const int64_t room = k / kStepsPerLine;
    const int64_t c_lines = room < MR * kRowLines ? room : MR * kRowLines;
    const int64_t ahead_lines = room - c_lines < ahead.lines ? room - c_lines : ahead.lines;
    for (int64_t line = 0; line < c_lines; ++line) {
      fetch_c(line);
      steps(kStepsPerLine);
    }
    for (int64_t line = 0; line < ahead_lines; ++line) {
      __builtin_prefetch(static_cast<const char*>(ahead.data) + 64 * line, 0, 2);
      steps(kStepsPerLine);
    }
    steps(k - (c_lines + ahead_lines) * kStepsPerLine);
  }
  // Unrolled: indexing the accumulators by a variable would keep them in memory throughout.
  const auto finish = [&](auto value_of) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        P* at = c + i * c_row_stride + j * W;
        S::store(at, value_of(acc[i][j], at));
      }
  };
  const V scale = S::splat(alpha), keep = S::splat(beta);
  if (alpha == P(1) && beta == P(0))
    finish([](V sum, const P*) { return sum; });
  else if (alpha == P(1) && beta == P(1))
    finish([](V sum, const P* at) { return sum + S::load(at); });
  else if (beta == P(0))
    finish([&](V sum, const P*) { return scale * sum; });
  else
    finish([&](V sum, const P* at) { return scale * sum + keep * S::load(at); });
}

// The same for complex numbers; panels hold a line of real parts, then a line of imaginary parts.
template <class P, int MR, int NV>
void complex_tile(int64_t k, const P* a, const P* b, Complex<P> alpha, Complex<P> beta,
                  Complex<P>* c, int64_t c_row_stride, Ahead) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width, NR = NV * W;
  V re[MR][NV] = {}, im[MR][NV] = {};
  for (int64_t p = 0; p < k; ++p) {
    V line_re[NV], line_im[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      line_re[j] = S::load(b + j * W);
      line_im[j] = S::load(b + NR + j * W);
    }
#if defined(__aarch64__)
    static_assert(MR % W == 0);
#  pragma GCC unroll 16
    for (int i0 = 0; i0 < MR; i0 += W) {
      const auto x_re = load_column(a + i0), x_im = load_column(a + MR + i0);
#  pragma GCC unroll 4
      for (int lane = 0; lane < W; ++lane)
#  pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) {
          const int i = i0 + lane;
          re[i][j] = multiply_add_lane(line_re[j], x_re, lane, re[i][j]);
          im[i][j] = multiply_add_lane(line_im[j], x_re, lane, im[i][j]);
          re[i][j] = multiply_sub_lane(line_im[j], x_im, lane, re[i][j]);
          im[i][j] = multiply_add_lane(line_re[j], x_im, lane, im[i][j]);
        }
    }
#else
#  pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const V x_re = S::splat(a[i]), x_im = S::splat(a[MR + i]);
#  pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        re[i][j] = multiply_add(x_re, line_re[j], re[i][j]);
        im[i][j] = multiply_add(x_re, line_im[j], im[i][j]);
        re[i][j] = multiply_add(-x_im, line_im[j], re[i][j]);
        im[i][j] = multiply_add(x_im, line_re[j], im[i][j]);
      }
    }
#endif
    a += 2 * MR;
    b += 2 * NR;
  }
  const bool reads_c = !(beta == Complex<P>(0));
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
    P line_re[NR], line_im[NR];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) {
      S::store(line_re + j * W, re[i][j]);
      S::store(line_im + j * W, im[i][j]);
    }
    Complex<P>* row = c + i * c_row_stride;
    for (int j = 0; j < NR; ++j) {
      const Complex<P> product = alpha * Complex<P>(line_re[j], line_im[j]);
      row[j] = reads_c ? product + beta * row[j] : product;
    }
  }
}

// See Kernels::store. Conversion to the half types is worth the vectorizer's full effort.
template <class T>
[[gnu::optimize("O3")]] void store_tile(int64_t rows, int64_t cols, const AccOf<T>* tile,
                                        int64_t tile_row_stride, AccOf<T> alpha, AccOf<T> beta,
                                        Matrix<T> c, const T* bias) {
  using Acc = AccOf<T>;
  const bool reads_c = !(beta == Acc(0));
  for (int64_t i = 0; i < rows; ++i) {
    const Acc* from = tile + i * tile_row_stride;
    T* row = c.data + i * c.row_stride;
    const int64_t step = c.col_stride;
    if (!reads_c && !bias && step == 1) {
      for (int64_t j = 0; j < cols; ++j) row[j] = Narrow<T>::from(multiply(alpha, from[j]));
      continue;
    }
    for (int64_t j = 0; j < cols; ++j) {
      Acc value = multiply(alpha, from[j]);
      if (reads_c) value = static_cast<Acc>(value + multiply(beta, widen(row[j * step])));
      if (bias) value = static_cast<Acc>(value + widen(bias[j]));
      row[j * step] = Narrow<T>::from(value);
    }
  }
}

}  // namespace
}  // namespace taeda::cpu::gemm_kernels
