// Chooses the row kernels of this processor, once.
#include "taeda/backends/cpu/convolution/row_kernels.h"

#include "taeda/base/isa.h"

namespace taeda::cpu::convolution_kernels {

#if defined(__aarch64__)
extern const RowKernelSet row_kernel_set_neon;

const RowKernelSet& row_kernels() { return row_kernel_set_neon; }
#else
extern const RowKernelSet row_kernel_set_generic, row_kernel_set_avx2, row_kernel_set_avx512;

const RowKernelSet& row_kernels() {
  static const RowKernelSet* const sets[] = {&row_kernel_set_generic, &row_kernel_set_avx2,
                                             &row_kernel_set_avx512};
  return *sets[isa_level()];
}
#endif

}  // namespace taeda::cpu::convolution_kernels
