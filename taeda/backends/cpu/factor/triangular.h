// Triangular equations, in blocks.
#pragma once

#include "taeda/backends/cpu/gemm/gemm.h"

namespace taeda::cpu {

// Solves A X = B in the place of B: A is n x n, of which one triangle is read, B is n x columns.
// With `is_unit` the diagonal counts as ones. A zero on the diagonal divides, as in BLAS. A and B
// may have any strides and must not overlap.
template <class T>
void solve_triangle(int64_t n, int64_t columns, Matrix<const T> a, bool is_upper, bool is_unit,
                    Matrix<T> b);

}  // namespace taeda::cpu
