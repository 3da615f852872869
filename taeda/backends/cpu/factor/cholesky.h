// Cholesky factors of Hermitian matrices, LAPACK's potrf.
#pragma once

#include "taeda/backends/cpu/factor/matrix_batch.h"

namespace taeda::cpu {

// Replaces the lower triangle of A by L with A = L L^H; of A only that triangle is read, of its
// diagonal the real parts, and what is above it becomes zero. Returns 0, or the order of the first
// leading minor that is not positive, where the work stops.
template <class T>
int32_t factor_cholesky(Columns<T>& a);

}  // namespace taeda::cpu
