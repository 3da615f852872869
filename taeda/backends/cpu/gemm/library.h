// Products that an installed library computes faster than the kernels of this folder.
#pragma once

#include <type_traits>

#include "taeda/backends/cpu/gemm/packed.h"

namespace taeda::cpu::gemm_kernels {

// The element types that oneDNN multiplies.
template <class T>
constexpr bool kHasLibrary =
    std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Computes the product with oneDNN where that is known to be faster (library.cpp has the list), or
// wherever it is not known to be slower where TAEDA_ONEDNN=/path/to/libdnnl.so names a library;
// TAEDA_ONEDNN=0 refuses it. The library is opened by the first product that wants it. Does nothing
// for every other product, without the library, and in a forked child, where its threads are gone.
// Finished: with the product's post-ops, in place of its work on blocks (Note [Post-ops]).
enum class LibraryWork : uint8_t { Nothing, Computed, Finished };
template <class T>
LibraryWork library_product(const Product<T>& product);

// Whether that may be so for a product of these sizes.
template <class T>
bool library_is_gainful(int64_t m, int64_t n, int64_t k);

template <class T>
  requires(!kHasLibrary<T>)
bool library_is_gainful(int64_t, int64_t, int64_t) {
  return false;
}
template <class T>
  requires(!kHasLibrary<T>)
LibraryWork library_product(const Product<T>&) {
  return LibraryWork::Nothing;
}

}  // namespace taeda::cpu::gemm_kernels
