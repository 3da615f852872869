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

// Parts that one step of depth of `lanes` lanes takes in panels of `width` lanes.
template <class T>
int64_t packed_size(int64_t lanes, int width) {
  return (lanes + width - 1) / width * width * kParts<T>;
}

// Packs blocks of both operands and runs tiles over them, on several threads where the product is
// large enough.
template <class T>
void packed_product(const Kernels<T>& kernels, const Product<T>& product);

}  // namespace taeda::cpu::gemm_kernels
