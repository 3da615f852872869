// Cache-blocked products from packed panels.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"

namespace taeda::cpu::gemm_kernels {

// One product, as gemm receives it; T is unsigned for the integer types.
template <class T>
struct Product {
  int64_t m, n, k;
  AccOf<T> alpha;
  Matrix<const T> a, b;
  AccOf<T> beta;
  Matrix<T> c;
  const T* bias;

  // The block of rows [i, i + rows) and columns [j, j + cols) of C.
  Product block(int64_t i, int64_t rows, int64_t j, int64_t cols) const {
    Product p = *this;
    p.m = rows;
    p.n = cols;
    p.a.data += i * a.row_stride;
    p.b.data += j * b.col_stride;
    p.c.data += i * c.row_stride + j * c.col_stride;
    if (bias) p.bias += j;
    return p;
  }
};

// Packs the k x n block of B into panels of kernels().nr columns at dst, which holds
// packed_size(n, nr) * k parts; A is packed alike, with its rows as lanes and width mr.
template <class T>
void pack_b(const Kernels<T>& kernels, int64_t n, int64_t k, Matrix<const T> b, PartOf<T>* dst) {
  kernels.pack(n, k, b.data, b.col_stride, b.row_stride, kernels.nr, dst);
}
template <class T>
void pack_a(const Kernels<T>& kernels, int64_t m, int64_t k, Matrix<const T> a, PartOf<T>* dst) {
  kernels.pack(m, k, a.data, a.row_stride, a.col_stride, kernels.mr, dst);
}
template <class T>
int64_t packed_size(int64_t lanes, int width) {
  return (lanes + width - 1) / width * width * kParts<T>;
}

// Computes the product on this thread.
template <class T>
void packed_product(const Kernels<T>& kernels, const Product<T>& product);

// Splits the product over parallel_for where it is large enough.
template <class T>
void parallel_product(const Kernels<T>& kernels, const Product<T>& product);

}  // namespace taeda::cpu::gemm_kernels
