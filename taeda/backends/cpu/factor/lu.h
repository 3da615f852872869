// LU factors with rows exchanged, and what is solved with them.
#pragma once

#include <cstdint>
#include <vector>

#include "taeda/backends/cpu/factor/matrix_batch.h"

namespace taeda::cpu {

// Replaces A by its factors: U in the upper triangle, L (ones on its diagonal) below. pivots[j] is
// the row, counted from 1, that row j was exchanged with: the largest by |re| + |im| of what is
// left of its column. Returns 0, or the place from 1 of the first zero on the diagonal of U.
template <class T>
int32_t factor_lu(Columns<T>& a, std::vector<int32_t>& pivots);

// Solves A X = B, or A^T X = B, in the place of B, which has A's rows and `columns` columns.
template <class T>
void solve_with_factors(const Columns<T>& factors, const std::vector<int32_t>& pivots,
                        bool is_transposed, int64_t columns, Matrix<T> b);

}  // namespace taeda::cpu
