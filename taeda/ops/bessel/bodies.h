// Bodies of Bessel and Airy functions: calls, and the modified functions of the first kind.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/ops/special_math/bodies.h"

namespace taeda::bodies {

#define TAEDA_BESSEL(Body, name)     \
  struct Body {                      \
    static constexpr int kCost = 64; \
    template <class V>               \
    static V apply(V x) {            \
      return name(x);                \
    }                                \
  };
TAEDA_BESSEL(SpecialAiryAi, airy_ai)
TAEDA_BESSEL(SpecialBesselJ0, bessel_j0)
TAEDA_BESSEL(SpecialBesselJ1, bessel_j1)
TAEDA_BESSEL(SpecialBesselY0, bessel_y0)
TAEDA_BESSEL(SpecialBesselY1, bessel_y1)
TAEDA_BESSEL(SpecialModifiedBesselK0, modified_bessel_k0)
TAEDA_BESSEL(SpecialModifiedBesselK1, modified_bessel_k1)
TAEDA_BESSEL(SpecialScaledModifiedBesselK0, scaled_modified_bessel_k0)
TAEDA_BESSEL(SpecialScaledModifiedBesselK1, scaled_modified_bessel_k1)
TAEDA_BESSEL(SpecialSphericalBesselJ0, spherical_bessel_j0)
#undef TAEDA_BESSEL

using SpecialModifiedBesselI0 = I0;
using SpecialModifiedBesselI1 = SpecialI1;

}  // namespace taeda::bodies
