// Products that an installed library computes faster than the kernels of this folder.
#pragma once

#include "taeda/backends/cpu/gemm/packed.h"

namespace taeda::cpu::gemm_kernels {

// Computes the product with oneDNN: bfloat16 above kLibraryWork multiply-adds, on x86_64 processors
// with bfloat16 instructions, which the float kernels here cannot use. The library is opened by the
// first product that wants it. Returns false, having done nothing, for every other product, without
// the library, and in a forked child, where its threads are gone.
bool library_product(const Product<BFloat16>& product);

template <class T>
bool library_product(const Product<T>&) {
  return false;
}

// A call into oneDNN costs about 1.7 us even with its primitive kept.
constexpr double kLibraryWork = 64.0 * 64 * 64;

}  // namespace taeda::cpu::gemm_kernels
