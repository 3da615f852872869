// Which of the instruction sets that `*.isa.cpp` files are built for this processor has.
#pragma once

#include "taeda/base/export.h"

namespace taeda {

// Index into a table of variants: x86_64 generic 0, AVX2 1, AVX-512 2; aarch64 NEON 0. A level asks
// for every instruction its files are compiled with.
#if defined(__x86_64__)
TAEDA_API int isa_level();
#else
inline int isa_level() { return 0; }
#endif

}  // namespace taeda
