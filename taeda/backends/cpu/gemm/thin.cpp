// A few rows times a large B: dot products where B's columns are contiguous, strips where its rows
// are.
#include "taeda/backends/cpu/gemm/thin.h"

#include <algorithm>

#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

constexpr int64_t kElementsPerTask = 65536;  // elements of B that are worth a thread
constexpr int64_t kBlock = 128;              // columns of C summed at a time

// A as rows of accumulators: itself, or a copy.
template <class T>
Matrix<const AccOf<T>> rows_of_a(const Product<T>& p) {
  using Acc = AccOf<T>;
  if constexpr (std::is_same_v<T, Acc>)
    if (p.a.col_stride == 1) return p.a;
  Acc* copy = scratch_array<Acc>(Scratch::Vector, p.m * p.k);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t q = 0; q < p.k; ++q)
      copy[i * p.k + q] = static_cast<Acc>(p.a.data[i * p.a.row_stride + q * p.a.col_stride]);
  return {copy, p.k, 1};
}

template <class T>
void dot_columns(const Kernels<T>& kernels, const Product<T>& p) {
  using Acc = AccOf<T>;
  const Matrix<const Acc> a = rows_of_a(p);
  const int64_t grain = std::max<int64_t>(kElementsPerTask / p.k, 16);
  parallel_for(0, p.n, grain, [&](int64_t first, int64_t last) {
    alignas(64) Acc sums[kBlock * kThinRows], tile[kBlock * kThinRows];
    for (int64_t j = first; j < last; j += kBlock) {
      const int64_t cols = std::min(kBlock, last - j);
      kernels.dot_rows(cols, p.m, p.k, p.b.data + j * p.b.col_stride, p.b.col_stride, a.data,
                       a.row_stride, sums);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t q = 0; q < cols; ++q) tile[i * cols + q] = sums[q * p.m + i];
      const Product<T> part = p.block(0, p.m, j, cols);
      kernels.store(p.m, cols, tile, cols, p.alpha, p.beta, part.c, part.bias);
    }
  });
}

template <class T>
void add_strips(const Kernels<T>& kernels, const Product<T>& p) {
  using Acc = AccOf<T>;
  constexpr int64_t kCols = 1024, kDepth = 8;  // a piece of B that stays in L1 for all rows of A
  const Matrix<const Acc> a = rows_of_a(p);
  const int64_t grain = std::max<int64_t>(kElementsPerTask / p.k, 64);
  parallel_for(0, p.n, grain, [&](int64_t first, int64_t last) {
    Acc* sums = scratch_array<Acc>(Scratch::Sums, kThinRows * kCols);
    for (int64_t j = first; j < last; j += kCols) {
      const int64_t cols = std::min(kCols, last - j);
      std::fill_n(sums, p.m * cols, Acc(0));
      for (int64_t q = 0; q < p.k; q += kDepth)
        for (int64_t i = 0; i < p.m; ++i)
          kernels.add_rows(std::min(kDepth, p.k - q), cols, p.b.data + q * p.b.row_stride + j,
                           p.b.row_stride, a.data + i * a.row_stride + q, sums + i * cols);
      const Product<T> part = p.block(0, p.m, j, cols);
      kernels.store(p.m, cols, sums, cols, p.alpha, p.beta, part.c, part.bias);
    }
  });
}

}  // namespace

template <class T>
bool thin_product(const Kernels<T>& kernels, const Product<T>& p) {
  if (p.m < 2 || p.m > kThinRows) return false;
  if (p.b.row_stride == 1) {
    dot_columns(kernels, p);
    return true;
  }
  if (p.b.col_stride == 1) {
    add_strips(kernels, p);
    return true;
  }
  return false;
}

#define TAEDA_GEMM_INSTANTIATE(T) template bool thin_product(const Kernels<T>&, const Product<T>&);
TAEDA_GEMM_FOR_EACH_TYPE(TAEDA_GEMM_INSTANTIATE)
#undef TAEDA_GEMM_INSTANTIATE

}  // namespace taeda::cpu::gemm_kernels
