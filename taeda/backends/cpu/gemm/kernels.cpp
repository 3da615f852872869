// Chooses the kernel set of this processor, once.
#include "taeda/backends/cpu/gemm/kernels.h"

#include "taeda/base/isa.h"

namespace taeda::cpu::gemm_kernels {

#if defined(__aarch64__)
extern const KernelSet kernel_set_neon;

const KernelSet& kernels() { return kernel_set_neon; }
#else
extern const KernelSet kernel_set_generic, kernel_set_avx2, kernel_set_avx512;

const KernelSet& kernels() {
  static const KernelSet* const sets[] = {&kernel_set_generic, &kernel_set_avx2,
                                          &kernel_set_avx512};
  return *sets[isa_level()];
}
#endif

}  // namespace taeda::cpu::gemm_kernels
