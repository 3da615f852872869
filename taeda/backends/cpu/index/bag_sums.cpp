// Chooses the sum of a bag's rows for this machine.
#include "taeda/backends/cpu/index/bag_sums.h"

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_BAG_SUM(type)                                                                     \
    extern const BagSum<type> type##_bag_sum_generic, type##_bag_sum_avx2, type##_bag_sum_avx512; \
    template <>                                                                                   \
    BagSum<type> bag_sum<type>() {                                                                \
      static const BagSum<type> sets[] = {type##_bag_sum_generic, type##_bag_sum_avx2,            \
                                          type##_bag_sum_avx512};                                 \
      return sets[isa_level()];                                                                   \
    }
#else
#  define TAEDA_BAG_SUM(type)                      \
    extern const BagSum<type> type##_bag_sum_neon; \
    template <>                                    \
    BagSum<type> bag_sum<type>() {                 \
      return type##_bag_sum_neon;                  \
    }
#endif
TAEDA_BAG_SUM(float)
TAEDA_BAG_SUM(double)
#undef TAEDA_BAG_SUM

}  // namespace taeda::cpu
