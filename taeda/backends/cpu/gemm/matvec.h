// Products of a matrix and a vector: C has one row or one column.
#pragma once

#include "taeda/backends/cpu/gemm/packed.h"

namespace taeda::cpu::gemm_kernels {

// Computes a product with m == 1 or n == 1 at the speed of reading its matrix, if the matrix is
// contiguous along one of its dimensions; returns false, having done nothing, if it is not.
template <class T>
bool matvec_product(const Kernels<T>& kernels, const Product<T>& product);

}  // namespace taeda::cpu::gemm_kernels
