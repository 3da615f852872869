// Matrix times vector: rows as dot products or as scaled additions, whichever the strides favour.
#include "taeda/backends/cpu/gemm/matvec.h"

#include <algorithm>

#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

constexpr int64_t kBlock = 4096;  // outputs summed at a time, in a buffer that stays in L1
constexpr int64_t kElementsPerTask = 65536;  // matrix elements that are worth a thread

// y[i] = sum over p of matrix(i, p) * x[p], seen the same way for m == 1 and n == 1.
template <class T>
struct MatVec {
  using Acc = AccOf<T>;
  int64_t rows, depth;
  const T* matrix;
  int64_t row_stride, depth_stride;
  const T* x;
  int64_t x_stride;
  bool is_row_of_c;  // y runs along a row of C (m == 1), and bias along with it

  explicit MatVec(const Product<T>& p) : is_row_of_c(p.m == 1) {
    depth = p.k;
    if (is_row_of_c) {
      rows = p.n;
      matrix = p.b.data;
      row_stride = p.b.col_stride;
      depth_stride = p.b.row_stride;
      x = p.a.data;
      x_stride = p.a.col_stride;
    } else {
      rows = p.m;
      matrix = p.a.data;
      row_stride = p.a.row_stride;
      depth_stride = p.a.col_stride;
      x = p.b.data;
      x_stride = p.b.row_stride;
    }
  }

  bool is_contiguous() const { return depth_stride == 1 || row_stride == 1; }

  // Sums of rows [first, first + count) over depths [from, from + length) into y.
  void sum(const Kernels<T>& kernels, int64_t first, int64_t count, int64_t from, int64_t length,
           const Acc* vector, Acc* y) const {
    const T* at = matrix + first * row_stride + from * depth_stride;
    if (depth_stride == 1) {
      kernels.dot_rows(count, 1, length, at, row_stride, vector + from, 0, y);
    } else {
      std::fill_n(y, count, Acc(0));
      kernels.add_rows(length, count, at, depth_stride, vector + from, y);
    }
  }
};

// Writes `count` sums that belong to rows [first, first + count) of y.
template <class T>
void finish(const Kernels<T>& kernels, const Product<T>& p, int64_t first, int64_t count,
            const AccOf<T>* sums) {
  if (p.m == 1) {
    const Product<T> part = p.block(0, 1, first, count);
    kernels.store(1, count, sums, count, p.alpha, p.beta, part.c, part.bias);
  } else {
    const Product<T> part = p.block(first, count, 0, 1);
    kernels.store(count, 1, sums, 1, p.alpha, p.beta, part.c, part.bias);
  }
}

// Few outputs over a great depth: fixed chunks of the depth, added in order.
template <class T>
void deep_product(const Kernels<T>& kernels, const Product<T>& p, const MatVec<T>& mv,
                  const AccOf<T>* x) {
  using Acc = AccOf<T>;
  const int64_t length = std::max<int64_t>(kElementsPerTask / mv.rows, 1);
  const int64_t chunks = (mv.depth + length - 1) / length;
  Acc* sums = scratch_array<Acc>(Scratch::Sums, chunks * mv.rows);
  parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t q = first; q < last; ++q)
      mv.sum(kernels, 0, mv.rows, q * length, std::min(length, mv.depth - q * length), x,
             sums + q * mv.rows);
  });
  for (int64_t q = 1; q < chunks; ++q)
    for (int64_t i = 0; i < mv.rows; ++i)
      sums[i] = static_cast<Acc>(sums[i] + sums[q * mv.rows + i]);
  finish(kernels, p, 0, mv.rows, sums);
}

}  // namespace

template <class T>
bool matvec_product(const Kernels<T>& kernels, const Product<T>& p) {
  using Acc = AccOf<T>;
  const MatVec<T> mv(p);
  if (!mv.is_contiguous()) return false;
  const Acc* x;
  if (std::is_same_v<T, Acc> && mv.x_stride == 1) {
    x = reinterpret_cast<const Acc*>(mv.x);
  } else {
    Acc* copy = scratch_array<Acc>(Scratch::Vector, mv.depth);
    for (int64_t i = 0; i < mv.depth; ++i) copy[i] = static_cast<Acc>(mv.x[i * mv.x_stride]);
    x = copy;
  }
  if (mv.rows < kBlock && mv.rows * mv.depth >= 4 * kElementsPerTask && mv.depth >= 8 * mv.rows) {
    deep_product(kernels, p, mv, x);
    return true;
  }
  const int64_t grain = std::max<int64_t>(kElementsPerTask / mv.depth, 16);
  parallel_for(0, mv.rows, grain, [&](int64_t first, int64_t last) {
    alignas(64) Acc sums[kBlock];
    for (int64_t i = first; i < last; i += kBlock) {
      const int64_t count = std::min(kBlock, last - i);
      mv.sum(kernels, i, count, 0, mv.depth, x, sums);
      finish(kernels, p, i, count, sums);
    }
  });
  return true;
}

#define TAEDA_GEMM_INSTANTIATE(T) \
  template bool matvec_product(const Kernels<T>&, const Product<T>&);
TAEDA_GEMM_FOR_EACH_TYPE(TAEDA_GEMM_INSTANTIATE)
#undef TAEDA_GEMM_INSTANTIATE

}  // namespace taeda::cpu::gemm_kernels
