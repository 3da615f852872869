// Cache-blocked products from packed panels.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/packed_matrix.h"

namespace taeda::cpu::gemm_kernels {

// The caller's work on blocks of C, seen from a block of it.
struct Finish {
  const FinishBlock* block = nullptr;
  int64_t row = 0, col = 0;    // of this block in the caller's C
  bool is_transposed = false;  // the product computes the transpose of the caller's

  void operator()(int64_t rows, int64_t cols) const {
    if (!block) return;
    is_transposed ? (*block)(col, cols, row, rows) : (*block)(row, rows, col, cols);
  }
};

// B in panels that the caller keeps, seen from a block of its columns.
struct KeptPanels {
  PackedMatrix* matrix = nullptr;
  int64_t depth = 0, lanes = 0;  // of the whole of B
  int64_t col = 0;               // at which the block starts
};

// An operand that the caller writes where it is packed, seen from a block of it.
struct Fill {
  const FillBlock* block = nullptr;
  int64_t row = 0, col = 0;  // of this block in the caller's operand

  // Elements from (i, j) on.
  Fill from(int64_t i, int64_t j) const { return {block, row + i, col + j}; }
};

// One product, as gemm receives it; T is unsigned for the integer types.
template <class T>
struct Product {
  int64_t m, n, k;
  AccOf<T> alpha;
  Matrix<const T> a, b;
  AccOf<T> beta;
  Matrix<T> c;
  const T* bias;
  Finish finish;
  KeptPanels kept_b;
  Fill fill_a, fill_b;
  const PostOps* post_ops = nullptr;  // the work of `finish`, for a library; of the whole C alone

  // The block of rows [i, i + rows) and columns [j, j + cols) of C.
  Product block(int64_t i, int64_t rows, int64_t j, int64_t cols) const {
    Product p = *this;
    p.m = rows;
    p.n = cols;
    p.fill_a = fill_a.from(i, 0);
    p.fill_b = fill_b.from(0, j);
    if (!fill_a.block) p.a.data += i * a.row_stride;
    if (!fill_b.block) p.b.data += j * b.col_stride;
    p.c.data += i * c.row_stride + j * c.col_stride;
    if (bias) p.bias += j;
    p.finish.row += i;
    p.finish.col += j;
    p.kept_b.col += j;
    p.post_ops = nullptr;
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
