// Chooses the conversions of half floats for this machine.
#include "taeda/backends/cpu/pointwise/halves.h"

#include "taeda/base/isa.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_HALF_RUNS(type)                                                             \
    extern const HalfRuns<type> type##_runs_generic, type##_runs_avx2, type##_runs_avx512;  \
    template <>                                                                             \
    const HalfRuns<type>& half_runs<type>() {                                               \
      static const HalfRuns<type>* const sets[] = {&type##_runs_generic, &type##_runs_avx2, \
                                                   &type##_runs_avx512};                    \
      return *sets[isa_level()];                                                            \
    }
#else
#  define TAEDA_HALF_RUNS(type)                   \
    extern const HalfRuns<type> type##_runs_neon; \
    template <>                                   \
    const HalfRuns<type>& half_runs<type>() {     \
      return type##_runs_neon;                    \
    }
#endif
TAEDA_HALF_RUNS(Half)
TAEDA_HALF_RUNS(BFloat16)
#undef TAEDA_HALF_RUNS

}  // namespace taeda::cpu
