// Matrix products of the CPU backend: C = beta * C + alpha * A * B (+ bias), one product or a
// batch.
#pragma once

#include <cstdint>

#include "taeda/backends/cpu/gemm/post_ops.h"
#include "taeda/base/complex.h"
#include "taeda/base/export.h"
#include "taeda/base/function_ref.h"
#include "taeda/base/half.h"

namespace taeda::cpu {

class PackedMatrix;

// A view of a matrix: element (i, j) lies at data[i * row_stride + j * col_stride]. Strides count
// elements and are arbitrary: transposed, sliced, negative, or 0 where an operand is expanded.
template <class T>
struct Matrix {
  T* data;
  int64_t row_stride, col_stride;
};

// The type of alpha and beta: float for the half types, the element type otherwise.
template <class T>
struct ScalarOfElement {
  using type = T;
};
template <>
struct ScalarOfElement<Half> {
  using type = float;
};
template <>
struct ScalarOfElement<BFloat16> {
  using type = float;
};
template <class T>
using ScalarOf = typename ScalarOfElement<T>::type;

// What is done to a block of C as soon as its elements are final, while they lie in the cache: rows
// [row, row + rows), columns [col, col + cols). Blocks are disjoint and cover C; several threads
// call it at once, inside of parallel regions. It must not throw.
using FinishBlock = FunctionRef<void(int64_t row, int64_t rows, int64_t col, int64_t cols)>;

// Writes a block of an operand where it is packed, in place of reading a matrix: a dense matrix of
// the operand's elements, one row after another, or one column. Several threads call it at once, a
// block may be asked for more than once. It must not throw.
struct FillBlock {
  FunctionRef<void(int64_t row, int64_t rows, int64_t col, int64_t cols, void* to)> write;
  bool is_by_columns = false;
};

// What a product does beside multiplying; null for none of it.
struct ProductOptions {
  const FinishBlock* finish = nullptr;  // may read C and change it
  PackedMatrix* packed = nullptr;       // keeps B for all products that are given it
  // Give the operands, whose matrices are not read then; only where packs_operands().
  const FillBlock *fill_a = nullptr, *fill_b = nullptr;
  // Of a convolution's blocks: rows are places of all images and columns channels. Else rows are
  // channels of all images, and columns the places of one.
  bool are_channels_columns = false;
  // The work of `finish` for a library that computes the product, which then calls no `finish`:
  // Note [Post-ops]. For one product of matrices, or a convolution.
  const PostOps* post_ops = nullptr;
};

// Whether a product of these sizes, into a C of dense rows, reads its operands by packing them.
template <class T>
TAEDA_API bool packs_operands(int64_t m, int64_t n, int64_t k);

// C[m,n] = beta * C + alpha * A[m,k] * B[k,n] + bias, where bias has n contiguous elements or is
// null.
//
// For T in float, double, Half, BFloat16, Complex<float>, Complex<double>, int64_t, int32_t,
// int16_t, int8_t and uint8_t. The half types accumulate in float and round once, integers wrap.
// beta == 0 never reads C; alpha == 0 or k == 0 never reads A and B. C must not overlap A, B or
// bias, and no two of its elements may share memory. Runs on parallel_for where the product is
// large enough; the number of threads never changes a result, except where oneDNN computes it.
// Allocates nothing but pack buffers, which each thread keeps. Throws OutOfMemory where those
// cannot grow.
template <class T>
TAEDA_API void gemm(int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha, Matrix<const T> a,
                    Matrix<const T> b, ScalarOf<T> beta, Matrix<T> c, const T* bias = nullptr,
                    const ProductOptions& options = {});

// The same product for every index of a batch; a batch stride of 0 shares an operand (never C).
// `finish` and the fills count rows through all matrices of the batch; nothing keeps B.
template <class T>
TAEDA_API void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha,
                            Matrix<const T> a, int64_t a_batch_stride, Matrix<const T> b,
                            int64_t b_batch_stride, ScalarOf<T> beta, Matrix<T> c,
                            int64_t c_batch_stride, const ProductOptions& options = {});

}  // namespace taeda::cpu
