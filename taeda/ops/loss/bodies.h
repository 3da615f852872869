// Bodies of the losses.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct SquaredDifference {
  template <class V>
  static V apply(V a, V b) {
    const V d = a - b;
    return d * d;
  }
};
struct SmoothL1 {
  template <class V>
  static V apply(V a, V b, Uniform<V> beta) {
    const V z = abs(a - b);
    return where(z < beta, V(0.5) * z * z / beta, z - V(0.5) * beta);
  }
};
struct Huber {
  template <class V>
  static V apply(V a, V b, Uniform<V> delta) {
    const V z = abs(a - b);
    return where(z <= delta, V(0.5) * z * z, delta * (z - V(0.5) * delta));
  }
};
struct SoftMargin {
  template <class V>
  static V apply(V x, V target) {
    return log1p(exp(-target * x));
  }
};
struct BinaryCrossEntropy {
  template <class V>
  static V apply(V x, V target) {
    const V low(-100);
    return (target - V(1)) * maximum(log1p(-x), low) - target * maximum(log(x), low);
  }
};

}  // namespace taeda::bodies
