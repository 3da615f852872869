// Tables that are built once per instruction set, and the choice among them.
#pragma once

#include "taeda/base/isa.h"

// Kernels stand in an inline namespace of the set they are compiled for; its first mention says so.
namespace taeda::kernel {
inline namespace TAEDA_ISA {}
}  // namespace taeda::kernel

// Declares `const Table name` of every set and `const Table& function()`, that of this machine.
// Stands in namespace taeda::kernel.
#if defined(__x86_64__)
#  define TAEDA_ISA_TABLE(Table, name, function)                                       \
    namespace generic {                                                                \
    extern const Table name;                                                           \
    }                                                                                  \
    namespace avx2 {                                                                   \
    extern const Table name;                                                           \
    }                                                                                  \
    namespace avx512 {                                                                 \
    extern const Table name;                                                           \
    }                                                                                  \
    static const Table& function() {                                                   \
      static const Table* const sets[] = {&generic::name, &avx2::name, &avx512::name}; \
      return *sets[isa_level()];                                                       \
    }
#else
#  define TAEDA_ISA_TABLE(Table, name, function) \
    namespace neon {                             \
    extern const Table name;                     \
    }                                            \
    static const Table& function() { return neon::name; }
#endif
