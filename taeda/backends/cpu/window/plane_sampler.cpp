// Chooses the functions that sample planes on this machine.
#include "taeda/backends/cpu/window/plane_sampler.h"

#include "taeda/backends/cpu/pointwise/tiles.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_PLANE_KERNELS(type)                                                          \
    extern const PlaneKernels<type> type##_plane_kernels_generic, type##_plane_kernels_avx2, \
        type##_plane_kernels_avx512;                                                         \
    template <>                                                                              \
    const PlaneKernels<type>& plane_kernels<type>() {                                        \
      static const PlaneKernels<type>* const sets[] = {&type##_plane_kernels_generic,        \
                                                       &type##_plane_kernels_avx2,           \
                                                       &type##_plane_kernels_avx512};        \
      return *sets[isa_level()];                                                             \
    }
#else
#  define TAEDA_PLANE_KERNELS(type)                            \
    extern const PlaneKernels<type> type##_plane_kernels_neon; \
    template <>                                                \
    const PlaneKernels<type>& plane_kernels<type>() {          \
      return type##_plane_kernels_neon;                        \
    }
#endif
TAEDA_PLANE_KERNELS(float)
TAEDA_PLANE_KERNELS(double)
#undef TAEDA_PLANE_KERNELS

}  // namespace taeda::cpu
