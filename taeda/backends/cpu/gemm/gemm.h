// Matrix products of the CPU backend: C = beta * C + alpha * A * B (+ bias), one product or a
// batch.
#pragma once

#include <cstdint>

#include "taeda/base/complex.h"
#include "taeda/base/export.h"
#include "taeda/base/half.h"

namespace taeda::cpu {

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
                    Matrix<const T> b, ScalarOf<T> beta, Matrix<T> c, const T* bias = nullptr);

// The same product for every index of a batch; a batch stride of 0 shares an operand (never C).
template <class T>
TAEDA_API void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha,
                            Matrix<const T> a, int64_t a_batch_stride, Matrix<const T> b,
                            int64_t b_batch_stride, ScalarOf<T> beta, Matrix<T> c,
                            int64_t c_batch_stride);

}  // namespace taeda::cpu
