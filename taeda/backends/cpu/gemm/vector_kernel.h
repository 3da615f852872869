// Matrix times one or a few vectors, for both orientations of the matrix, reading it once.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// Vectors that share a load of the matrix, as the register file allows.
#if defined(__aarch64__) || defined(__AVX512F__)
constexpr int kDotVectors = 4;
#else
constexpr int kDotVectors = 2;
#endif

template <class T>
[[gnu::always_inline]] inline AccOf<T> add_product(AccOf<T> total, AccOf<T> x, T y) {
  return static_cast<AccOf<T>>(total + multiply(x, widen(y)));
}

// Dot products of R rows with X vectors; D sums each, so that enough are under way at once.
template <class T, int R, int X, int D>
void dot_block(int64_t k, const T* matrix, int64_t row_stride, const AccOf<T>* x, int64_t x_stride,
               AccOf<T>* y, int64_t y_stride) {
  using Acc = AccOf<T>;
  Acc total[R][X] = {};
  int64_t p = 0;
  if constexpr (kParts<T> == 1) {
    using S = Simd<Acc>;
    using V = typename S::V;
    constexpr int W = S::width;
    V sum[D][R][X] = {};
    for (; p + 2 * W <= k; p += 2 * W) {
      V x0[X], x1[X];
#pragma GCC unroll 4
      for (int q = 0; q < X; ++q) {
        x0[q] = S::load(x + q * x_stride + p);
        x1[q] = S::load(x + q * x_stride + p + W);
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const auto [first, second] = Load<T>::pair(matrix + i * row_stride + p);
#pragma GCC unroll 4
        for (int q = 0; q < X; ++q) {
          sum[0][i][q] = multiply_add(first, x0[q], sum[0][i][q]);
          sum[D - 1][i][q] = multiply_add(second, x1[q], sum[D - 1][i][q]);
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int q = 0; q < X; ++q)
        total[i][q] = S::sum(D == 2 ? sum[0][i][q] + sum[D - 1][i][q] : sum[0][i][q]);
  }
  for (; p < k; ++p)
    for (int i = 0; i < R; ++i)
      for (int q = 0; q < X; ++q)
        total[i][q] = add_product<T>(total[i][q], x[q * x_stride + p], matrix[i * row_stride + p]);
  for (int i = 0; i < R; ++i)
    for (int q = 0; q < X; ++q) y[i * y_stride + q] = total[i][q];
}

// One row with one vector: a single stream of memory, which the hardware fetches best, and four
// sums.
template <class T>
AccOf<T> dot_row(int64_t k, const T* row, const AccOf<T>* x) {
  using Acc = AccOf<T>;
  Acc total{};
  int64_t p = 0;
  if constexpr (kParts<T> == 1) {
    using S = Simd<Acc>;
    using V = typename S::V;
    constexpr int W = S::width;
    V sum[4] = {};
    for (; p + 4 * W <= k; p += 4 * W) {
      const auto [a, b] = Load<T>::pair(row + p);
      const auto [c, d] = Load<T>::pair(row + p + 2 * W);
      sum[0] = multiply_add(a, S::load(x + p), sum[0]);
      sum[1] = multiply_add(b, S::load(x + p + W), sum[1]);
      sum[2] = multiply_add(c, S::load(x + p + 2 * W), sum[2]);
      sum[3] = multiply_add(d, S::load(x + p + 3 * W), sum[3]);
    }
    total = S::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  for (; p < k; ++p) total = add_product<T>(total, x[p], row[p]);
  return total;
}

// One group of R rows with all vectors.
template <class T, int R>
void dot_group(int64_t count, int64_t k, const T* matrix, int64_t row_stride, const AccOf<T>* x,
               int64_t x_stride, AccOf<T>* y) {
  int64_t q = 0;
  if constexpr (kDotVectors > 2)
    for (; q + 4 <= count; q += 4)
      dot_block<T, R, 4, 1>(k, matrix, row_stride, x + q * x_stride, x_stride, y + q, count);
  for (; q + 2 <= count; q += 2)
    dot_block<T, R, 2, 2>(k, matrix, row_stride, x + q * x_stride, x_stride, y + q, count);
  if (q < count)
    for (int i = 0; i < R; ++i)
      y[i * count + q] = dot_row(k, matrix + i * row_stride, x + q * x_stride);
}

// See Kernels::dot_rows.
template <class T>
void dot_rows(int64_t rows, int64_t count, int64_t k, const T* matrix, int64_t row_stride,
              const AccOf<T>* x, int64_t x_stride, AccOf<T>* y) {
  int64_t i = 0;
  for (; i + 2 <= rows; i += 2)
    dot_group<T, 2>(count, k, matrix + i * row_stride, row_stride, x, x_stride, y + i * count);
  if (i < rows)
    dot_group<T, 1>(count, k, matrix + i * row_stride, row_stride, x, x_stride, y + i * count);
}

template <class T, int R>
void add_block(int64_t cols, const T* matrix, int64_t row_stride, const AccOf<T>* x, AccOf<T>* y) {
  using Acc = AccOf<T>;
  int64_t j = 0;
  if constexpr (kParts<T> == 1) {
    using S = Simd<Acc>;
    using V = typename S::V;
    constexpr int W = S::width;
    V scale[R];
#pragma GCC unroll 8
    for (int p = 0; p < R; ++p) scale[p] = S::splat(x[p]);
    for (; j + 2 * W <= cols; j += 2 * W) {
      V total0 = S::load(y + j), total1 = S::load(y + j + W);
#pragma GCC unroll 8
      for (int p = 0; p < R; ++p) {
        const auto [first, second] = Load<T>::pair(matrix + p * row_stride + j);
        total0 = multiply_add(first, scale[p], total0);
        total1 = multiply_add(second, scale[p], total1);
      }
      S::store(y + j, total0);
      S::store(y + j + W, total1);
    }
  }
  for (; j < cols; ++j) {
    Acc total = y[j];
    for (int p = 0; p < R; ++p) total = add_product<T>(total, x[p], matrix[p * row_stride + j]);
    y[j] = total;
  }
}

// See Kernels::add_rows.
template <class T>
void add_rows(int64_t k, int64_t cols, const T* matrix, int64_t row_stride, const AccOf<T>* x,
              AccOf<T>* y) {
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) add_block<T, 4>(cols, matrix + p * row_stride, row_stride, x + p, y);
  for (; p < k; ++p) add_block<T, 1>(cols, matrix + p * row_stride, row_stride, x + p, y);
}

}  // namespace
}  // namespace taeda::cpu::gemm_kernels
