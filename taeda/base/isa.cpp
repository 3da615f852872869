// Asks the processor once.
#include "taeda/base/isa.h"

namespace taeda {

#if defined(__x86_64__)
namespace {

int detect() {
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_avx2 ? (has_avx512 ? 2 : 1) : 0;
}

}  // namespace

int isa_level() {
  static const int level = detect();
  return level;
}
#endif

}  // namespace taeda
