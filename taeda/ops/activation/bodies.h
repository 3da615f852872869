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
struct Threshold {
  template <class V>
  static V apply(V x, Uniform<V> threshold, Uniform<V> value) {
    return where(x <= threshold, V(value), x);
  }
};
struct Hardtanh {
  template <class V>
  static V apply(V x, Uniform<V> low, Uniform<V> high) {
    return minimum(maximum(x, V(low)), V(high));
  }
};
struct HardtanhBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> low, Uniform<V> high) {
    return where((x > low) & (x < high), grad, V(0));
  }
};
struct Elu {
  template <class V>
  static V apply(V x, Uniform<V> alpha, Uniform<V> scale, Uniform<V> input_scale) {
    return where(x < V(0), expm1(x * input_scale) * (alpha * scale), x * scale);
  }
};
struct EluBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> alpha, Uniform<V> scale, Uniform<V> input_scale) {
    const V below = grad * input_scale * (alpha * scale) * exp(x * input_scale);
    return where(x > V(0), grad * scale, below);
  }
};
struct EluBackwardOfResult {
  template <class V>
  static V apply(V grad, V y, Uniform<V> alpha, Uniform<V> scale, Uniform<V> input_scale) {
    return where(y > V(0), grad * scale, grad * input_scale * (y + alpha * scale));
  }
};
struct Mish {
  template <class V>
  static V apply(V x) {
    return x * tanh(log1p(exp(x)));
  }
};
struct MishBackward {
  template <class V>
  static V apply(V grad, V x) {
    const V t = tanh(log1p(exp(x)));
    const V s = V(1) / (V(1) + exp(-x));
    return grad * (t + x * s * (V(1) - t * t));
  }
};
struct Hardsigmoid {
  template <class V>
  static V apply(V x) {
    return minimum(maximum(x + V(3), V(0)), V(6)) / V(6);
  }
};
struct HardsigmoidBackward {
  template <class V>
  static V apply(V grad, V x) {
    return where(x > V(-3), where(x < V(3), grad * V(1.0 / 6), V(0)), V(0));
  }
};
struct Hardswish {
  template <class V>
  static V apply(V x) {
    return x * minimum(maximum(x + V(3), V(0)), V(6)) / V(6);
  }
};
struct HardswishBackward {
  template <class V>
  static V apply(V grad, V x) {
    return where(x <= V(-3), V(0), where(x >= V(3), grad, grad * (x / V(3) + V(0.5))));
  }
};
struct Softplus {
  template <class V>
  static V apply(V x, Uniform<V> beta, Uniform<V> threshold) {
    const V z = x * beta;
    return where(z > threshold, x, log1p(exp(z)) / beta);
  }
};
struct SoftplusBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> beta, Uniform<V> threshold) {
    const V z = x * beta, e = exp(z);
    return where(z > threshold, grad, grad * e / (e + V(1)));
  }
};
struct LogSigmoid {
  template <class V>
  static V apply(V x) {
    return minimum(x, V(0)) - log1p(exp(-abs(x)));
  }
};
struct Hardshrink {
  template <class V>
  static V apply(V x, Uniform<V> lambd) {
    return where(abs(x) <= lambd, V(0), x);
  }
};
struct HardshrinkBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> lambd) {
    return where(abs(x) > lambd, grad, V(0));
  }
};
struct Softshrink {
  template <class V>
  static V apply(V x, Uniform<V> lambd) {
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * V(0)));
  }
};
struct SoftshrinkBackward {
  template <class V>
  static V apply(V grad, V x, Uniform<V> lambd) {
    return where(abs(x) > lambd, grad, V(0));
  }
};

}  // namespace taeda::bodies
