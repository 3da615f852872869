// Products with a few rows: B is read once, as it lies, instead of being packed.
#pragma once

#include "taeda/backends/cpu/gemm/packed.h"

namespace taeda::cpu::gemm_kernels {

// Computes a product of 2 to kThinRows rows whose B is contiguous along one dimension; returns
// false, having done nothing, for any other.
template <class T>
bool thin_product(const Kernels<T>& kernels, const Product<T>& product);

constexpr int64_t kThinRows = 8;

}  // namespace taeda::cpu::gemm_kernels
