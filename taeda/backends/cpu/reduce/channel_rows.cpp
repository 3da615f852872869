// Chooses the row functions with numbers per channel of this machine.
#include "taeda/backends/cpu/reduce/channel_rows.h"

#include "taeda/base/isa.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_CHANNEL_ROWS(type)                                                               \
    extern const ChannelRows<type> type##_channel_rows_generic, type##_channel_rows_avx2,        \
        type##_channel_rows_avx512;                                                              \
    template <>                                                                                  \
    const ChannelRows<type>& channel_rows<type>() {                                              \
      static const ChannelRows<type>* const sets[] = {                                           \
          &type##_channel_rows_generic, &type##_channel_rows_avx2, &type##_channel_rows_avx512}; \
      return *sets[isa_level()];                                                                 \
    }
#else
#  define TAEDA_CHANNEL_ROWS(type)                           \
    extern const ChannelRows<type> type##_channel_rows_neon; \
    template <>                                              \
    const ChannelRows<type>& channel_rows<type>() {          \
      return type##_channel_rows_neon;                       \
    }
#endif
TAEDA_CHANNEL_ROWS(float)
TAEDA_CHANNEL_ROWS(double)
#undef TAEDA_CHANNEL_ROWS

}  // namespace taeda::cpu
