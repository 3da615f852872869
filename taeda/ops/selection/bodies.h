// Bodies that choose between elements: extremes, limits, masks.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Maximum {
  template <class V>
  static V apply(V a, V b) {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class V>
  static V apply(V a, V b) {
    return minimum(a, b);
  }
};
struct Fmax {
  template <class V>
  static V apply(V a, V b) {
    return fmax(a, b);
  }
};
struct Fmin {
  template <class V>
  static V apply(V a, V b) {
    return fmin(a, b);
  }
};
struct Clamp {
  template <class V>
  static V apply(V x, V low, V high) {
    return minimum(maximum(x, low), high);
  }
};
struct ClampMin {
  template <class V>
  static V apply(V x, V low) {
    return maximum(x, low);
  }
};
struct ClampMax {
  template <class V>
  static V apply(V x, V high) {
    return minimum(x, high);
  }
};
struct Where {
  template <class V>
  static V apply(MaskOf<V> condition, V a, V b) {
    return where(condition, a, b);
  }
};
struct MaskedFill {
  template <class V>
  static V apply(V x, MaskOf<V> mask, Uniform<V> value) {
    return where(mask, value, x);
  }
};
struct MaskedFillTensor {
  template <class V>
  static V apply(V x, MaskOf<V> mask, V value) {
    return where(mask, value, x);
  }
};

}  // namespace taeda::bodies
