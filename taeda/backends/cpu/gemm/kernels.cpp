// Chooses the kernel set of this processor, once.
#include "taeda/backends/cpu/gemm/kernels.h"

namespace taeda::cpu::gemm_kernels {

#if defined(__aarch64__)
extern const KernelSet kernel_set_neon;

const KernelSet& kernels() { return kernel_set_neon; }
#else
extern const KernelSet kernel_set_generic, kernel_set_avx2, kernel_set_avx512;

namespace {

const KernelSet& choose() {
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return kernel_set_avx512;
  return has_avx2 ? kernel_set_avx2 : kernel_set_generic;
}

}  // namespace

const KernelSet& kernels() {
  static const KernelSet& chosen = choose();
  return chosen;
}
#endif

}  // namespace taeda::cpu::gemm_kernels
