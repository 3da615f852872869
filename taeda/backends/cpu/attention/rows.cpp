// Chooses attention's functions of this machine.
#include "taeda/backends/cpu/attention/rows.h"

#include "taeda/base/isa.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_ATTENTION_ROWS(type)                                                            \
    extern const AttentionRows<type> type##_attention_rows_generic, type##_attention_rows_avx2, \
        type##_attention_rows_avx512;                                                           \
    template <>                                                                                 \
    const AttentionRows<type>& attention_rows<type>() {                                         \
      static const AttentionRows<type>* const sets[] = {&type##_attention_rows_generic,         \
                                                        &type##_attention_rows_avx2,            \
                                                        &type##_attention_rows_avx512};         \
      return *sets[isa_level()];                                                                \
    }
#else
#  define TAEDA_ATTENTION_ROWS(type)                             \
    extern const AttentionRows<type> type##_attention_rows_neon; \
    template <>                                                  \
    const AttentionRows<type>& attention_rows<type>() {          \
      return type##_attention_rows_neon;                         \
    }
#endif
TAEDA_ATTENTION_ROWS(float)
TAEDA_ATTENTION_ROWS(double)
#undef TAEDA_ATTENTION_ROWS

}  // namespace taeda::cpu
