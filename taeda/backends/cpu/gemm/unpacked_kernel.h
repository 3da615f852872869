// Small products straight from the operands: no packing, rows of B read as vectors.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// The parameters that all blocks of one product share.
template <class P>
struct UnpackedProduct {
  int64_t k;
  P alpha, beta;
  int64_t a_row_stride, a_col_stride, c_row_stride, c_col_stride;
};

// R rows by NV vectors of C, of which the first `cols` columns are stored.
template <class P, int R, int NV>
void unpacked_block(const UnpackedProduct<P>& product, const P* a, const P* b, int64_t b_row_stride,
                    P* c, const P* bias, int64_t cols) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width;
  V acc[R][NV] = {};
  const int64_t ars = product.a_row_stride, acs = product.a_col_stride;
  for (int64_t p = 0; p < product.k; ++p) {
    V line[NV];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) line[j] = S::load(b + j * W);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const P x = a[i * ars];
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) acc[i][j] = multiply_add_scalar<P>(line[j], x, acc[i][j]);
    }
    a += acs;
    b += b_row_stride;
  }
  const V scale = S::splat(product.alpha), keep = S::splat(product.beta);
  const bool reads_c = product.beta != P(0);
  const int64_t crs = product.c_row_stride, ccs = product.c_col_stride;
  if (cols == NV * W && ccs == 1) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        P* at = c + i * crs + j * W;
        V value = scale * acc[i][j];
        if (reads_c) value += keep * S::load(at);
        if (bias) value += S::load(bias + j * W);
        S::store(at, value);
      }
    return;
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    P row[NV * W];
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) S::store(row + j * W, scale * acc[i][j]);
    for (int64_t j = 0; j < cols; ++j) {
      P value = row[j];
      P* at = c + i * crs + j * ccs;
      if (reads_c) value += product.beta * *at;
      if (bias) value += bias[j];
      *at = value;
    }
  }
}

// All rows of a column strip of NV vectors.
template <class P, int NV>
void unpacked_strip(const UnpackedProduct<P>& product, int64_t m, const P* a, const P* b,
                    int64_t b_row_stride, P* c, const P* bias, int64_t cols) {
  int64_t i = 0;
  const int64_t ars = product.a_row_stride, crs = product.c_row_stride;
  for (; i + 4 <= m; i += 4)
    unpacked_block<P, 4, NV>(product, a + i * ars, b, b_row_stride, c + i * crs, bias, cols);
  a += i * ars;
  c += i * crs;
  switch (m - i) {
    case 3: return unpacked_block<P, 3, NV>(product, a, b, b_row_stride, c, bias, cols);
    case 2: return unpacked_block<P, 2, NV>(product, a, b, b_row_stride, c, bias, cols);
    case 1: return unpacked_block<P, 1, NV>(product, a, b, b_row_stride, c, bias, cols);
    default: return;
  }
}

// See Kernels::unpacked. NV is the widest strip that leaves registers for the operands.
template <class P, int NV>
void unpacked(int64_t m, int64_t n, int64_t k, P alpha, Matrix<const P> a, Matrix<const P> b,
              P beta, Matrix<P> c, const P* bias) {
  constexpr int W = Simd<P>::width;
  const UnpackedProduct<P> product{
      k, alpha, beta, a.row_stride, a.col_stride, c.row_stride, c.col_stride};
  int64_t j = 0;
  const auto strip = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
    unpacked_strip<P, Vectors>(product, m, a.data, b.data + j, b.row_stride,
                               c.data + j * c.col_stride, bias ? bias + j : nullptr, Vectors * W);
    j += Vectors * W;
  };
  while (j + NV * W <= n) strip(std::integral_constant<int, NV>{});
  if constexpr (NV > 2)
    if (j + 2 * W <= n) strip(std::integral_constant<int, 2>{});
  if (j + W <= n) strip(std::integral_constant<int, 1>{});
  if (j == n) return;

  // The last columns, fewer than a vector, from a zero-filled copy.
  P tail[kUnpackedMaxDepth * W];
  const int64_t cols = n - j;
  for (int64_t p = 0; p < k; ++p)
    for (int64_t q = 0; q < W; ++q)
      tail[p * W + q] = q < cols ? b.data[p * b.row_stride + j + q] : P(0);
  unpacked_strip<P, 1>(product, m, a.data, tail, int64_t{W}, c.data + j * c.col_stride,
                       bias ? bias + j : nullptr, cols);
}

}  // namespace
}  // namespace taeda::cpu::gemm_kernels
