// Matrix products whose operands are packed on demand from wherever their elements lie.
#pragma once

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/base/function_ref.h"

namespace taeda::cpu::convolution_kernels {

using gemm_kernels::AccOf;
using gemm_kernels::PartOf;

// One operand: `count` lanes, each as deep as the product.
template <class T>
struct Operand {
  int64_t count;
  // Packs one panel of `width` lanes for `depth` steps from `q` on: lanes [lane, lane + lanes) and
  // zeros up to the width, in the layout of Kernels::pack.
  FunctionRef<void(int64_t group, int64_t lane, int64_t lanes, int64_t q, int64_t depth, int width,
                   PartOf<T>* dst)>
      pack;
  bool is_shared;  // packed once before all tiles, since many tasks read it
};

// Sums of rows [row, row + rows) and columns [col, col + cols), row by row.
template <class T>
struct Sums {
  int64_t group, row, rows, col, cols;
  AccOf<T>* data;
  int64_t row_stride;
};

// For each group a product of `depth` steps. `store` takes each block of sums once, on any thread.
template <class T>
struct ImplicitProduct {
  int64_t groups, depth;
  Operand<T> a, b;
  FunctionRef<void(const Sums<T>&)> store;

  // On parallel_for where the work is large enough. The order of a sum depends on the depth alone.
  void run() const;
};

}  // namespace taeda::cpu::convolution_kernels
