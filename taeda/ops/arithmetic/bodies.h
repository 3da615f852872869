// Bodies of the arithmetic operators.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Add {
  template <class V>
  static V apply(V a, V b, Uniform<V> alpha) {
    return a + b * alpha;
  }
};
struct Sub {
  template <class V>
  static V apply(V a, V b, Uniform<V> alpha) {
    return a - b * alpha;
  }
};
struct Rsub {
  template <class V>
  static V apply(V a, V b, Uniform<V> alpha) {
    return b - a * alpha;
  }
};
struct Mul {
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
struct Div {
  template <class V>
  static V apply(V a, V b) {
    return a / b;
  }
};
// kDivisor: the operand in which integers may hold no zero.
struct DivFloor {
  static constexpr int kDivisor = 1;
  template <class V>
  static V apply(V a, V b) {
    return div_floor(a, b);
  }
};
struct DivTrunc {
  static constexpr int kDivisor = 1;
  template <class V>
  static V apply(V a, V b) {
    return div_trunc(a, b);
  }
};
struct Remainder {
  static constexpr int kDivisor = 1;
  template <class V>
  static V apply(V a, V b) {
    return remainder(a, b);
  }
};
struct Fmod {
  static constexpr int kDivisor = 1;
  template <class V>
  static V apply(V a, V b) {
    return fmod(a, b);
  }
};
struct Neg {
  template <class V>
  static V apply(V x) {
    return -x;
  }
};
struct Abs {
  template <class V>
  static RealOf<V> apply(V x) {
    return abs(x);
  }
};
struct Addcmul {
  template <class V>
  static V apply(V x, V a, V b, Uniform<V> value) {
    return x + value * a * b;
  }
};
struct Addcdiv {
  template <class V>
  static V apply(V x, V a, V b, Uniform<V> value) {
    return x + value * a / b;
  }
};
// From the nearer end, so that weights of 0 and 1 give the ends themselves.
struct LerpTensor {
  template <class V>
  static V apply(V start, V end, V weight) {
    const V step = end - start;
    return where(abs(weight) < RealOf<V>(0.5), start + weight * step, end - step * (V(1) - weight));
  }
};
struct Lerp {
  template <class V>
  static V apply(V start, V end, Uniform<V> weight) {
    return LerpTensor::apply<V>(start, end, weight);
  }
};

}  // namespace taeda::bodies
