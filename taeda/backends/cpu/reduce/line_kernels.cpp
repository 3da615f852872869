// Chooses the line kernels of this processor.
#include "taeda/backends/cpu/reduce/line_kernels.h"

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

#if defined(__x86_64__)
extern const LineKernels line_kernels_generic, line_kernels_avx2, line_kernels_avx512;
const LineKernels& line_kernels() {
  static const LineKernels* const tables[] = {&line_kernels_generic, &line_kernels_avx2,
                                              &line_kernels_avx512};
  return *tables[isa_level()];
}
#else
extern const LineKernels line_kernels_neon;
const LineKernels& line_kernels() { return line_kernels_neon; }
#endif

}  // namespace taeda::cpu
