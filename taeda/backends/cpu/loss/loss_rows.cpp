// Chooses the row functions of this machine.
#include "taeda/backends/cpu/loss/loss_rows.h"

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_LOSS_ROWS(type)                                                         \
    extern const LossRows<type> type##_loss_rows_generic, type##_loss_rows_avx2,        \
        type##_loss_rows_avx512;                                                        \
    template <>                                                                         \
    const LossRows<type>& loss_rows<type>() {                                           \
      static const LossRows<type>* const sets[] = {                                     \
          &type##_loss_rows_generic, &type##_loss_rows_avx2, &type##_loss_rows_avx512}; \
      return *sets[isa_level()];                                                        \
    }
#else
#  define TAEDA_LOSS_ROWS(type)                        \
    extern const LossRows<type> type##_loss_rows_neon; \
    template <>                                        \
    const LossRows<type>& loss_rows<type>() {          \
      return type##_loss_rows_neon;                    \
    }
#endif
TAEDA_LOSS_ROWS(float)
TAEDA_LOSS_ROWS(double)
#undef TAEDA_LOSS_ROWS

}  // namespace taeda::cpu
