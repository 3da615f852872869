// The micro-kernel: one register tile of C from two packed panels, and the tile's way into C.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// Steps of depth by which the panel of A, which comes from L2, is fetched ahead.
constexpr int kPrefetch = 16;

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

// A tile of MR rows by NV vectors.
template <class P, int MR, int NV>
void real_tile(int64_t k, const P* a, const P* b, P alpha, P beta, P* c, int64_t c_row_stride) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width;
  for (int i = 0; i < MR; ++i) __builtin_prefetch(c + i * c_row_stride, 1);
  V acc[MR][NV] = {};
  for (int64_t p = 0; p < k; ++p) {
    __builtin_prefetch(a + kPrefetch * MR);
    V line[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) line[j] = S::load(b + j * W);
    rank_one_update<P, MR, NV>(acc, a, line);
    a += MR;
    b += NV * W;
  }
  const V scale = S::splat(alpha);
  if (beta == P(0)) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) S::store(c + i * c_row_stride + j * W, scale * acc[i][j]);
  } else {
    const V keep = S::splat(beta);
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        P* at = c + i * c_row_stride + j * W;
        S::store(at, scale * acc[i][j] + keep * S::load(at));
      }
  }
}

// The same for complex numbers; panels hold a line of real parts, then a line of imaginary parts.
template <class P, int MR, int NV>
void complex_tile(int64_t k, const P* a, const P* b, Complex<P> alpha, Complex<P> beta,
                  Complex<P>* c, int64_t c_row_stride) {
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
  // Unrolled: indexing the accumulators by a variable would keep them in memory throughout.
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
