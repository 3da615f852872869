// Chooses the row functions of this machine.
#include "taeda/backends/cpu/window/window_rows.h"

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_WINDOW_ROWS(type, name)                                                       \
    extern const WindowRows<type> name##_window_rows_generic, name##_window_rows_avx2,        \
        name##_window_rows_avx512;                                                            \
    template <>                                                                               \
    const WindowRows<type>& window_rows<type>() {                                             \
      static const WindowRows<type>* const sets[] = {                                         \
          &name##_window_rows_generic, &name##_window_rows_avx2, &name##_window_rows_avx512}; \
      return *sets[isa_level()];                                                              \
    }
#else
#  define TAEDA_WINDOW_ROWS(type, name)                    \
    extern const WindowRows<type> name##_window_rows_neon; \
    template <>                                            \
    const WindowRows<type>& window_rows<type>() {          \
      return name##_window_rows_neon;                      \
    }
#endif
TAEDA_WINDOW_ROWS(float, float)
TAEDA_WINDOW_ROWS(double, double)
TAEDA_WINDOW_ROWS(int64_t, int64)
#undef TAEDA_WINDOW_ROWS

}  // namespace taeda::cpu
