// Bodies of activations and their gradients.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

constexpr double kSqrtHalf = 0.70710678118654752440;    // sqrt(1/2)
constexpr double kNormalPeak = 0.39894228040143267794;  // 1 / sqrt(2 pi)
constexpr double kGeluScale = 0.79788456080286535588;   // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

struct Relu {
  template <class V>
  static V apply(V x) {
    return maximum(x, V(0));
  }
};
struct ThresholdBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> threshold) {
    return where(x <= threshold, V(0), grad);
  }
};
struct LeakyRelu {
  template <class V>
  static V apply(V x, Uniform<V> slope) {
    return where(x > V(0), x, x * slope);
  }
};
struct LeakyReluBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> slope) {
    return where(x > V(0), grad, grad * slope);
  }
};
struct Silu {
  template <class V>
  static V apply(V x) {
    return x / (V(1) + exp(-x));
  }
};
struct SiluBackward {
  template <class V>
  static V apply(V grad, V x) {
    const V s = V(1) / (V(1) + exp(-x));
    return grad * (s * (V(1) + x * (V(1) - s)));
  }
};
struct Gelu {
  template <class V>
  static V apply(V x) {
    return V(0.5) * x * (V(1) + erf(x * V(kSqrtHalf)));
  }
};
struct GeluTanh {
  template <class V>
  static V apply(V x) {
    return V(0.5) * x * (V(1) + tanh(V(kGeluScale) * (x + V(kGeluCubic) * x * x * x)));
  }
};
struct GeluBackward {
  template <class V>
  static V apply(V grad, V x) {
    const V cdf = V(0.5) * (V(1) + erf(x * V(kSqrtHalf)));
    const V pdf = exp(V(-0.5) * x * x) * V(kNormalPeak);
    return grad * (cdf + x * pdf);
  }
};
struct GeluTanhBackward {
  template <class V>
  static V apply(V grad, V x) {
    const V square = x * x;
    const V t = tanh(V(kGeluScale) * (x + V(kGeluCubic) * square * x));
    const V inner = V(kGeluScale) * (V(1) + V(3 * kGeluCubic) * square);
    return grad * (V(0.5) * (V(1) + t) + V(0.5) * x * (V(1) - t * t) * inner);
  }
};

}  // namespace taeda::bodies
