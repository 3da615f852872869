// Bodies of comparisons, of logic on truth values and of bit operations.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Lt {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a < b;
  }
};
struct Le {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a <= b;
  }
};
struct Gt {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a > b;
  }
};
struct Ge {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a >= b;
  }
};
struct Eq {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a == b;
  }
};
struct Ne {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a != b;
  }
};
struct LogicalAnd {
  template <class V>
  static MaskOf<V> apply(MaskOf<V> a, MaskOf<V> b) {
    return a & b;
  }
};
struct LogicalOr {
  template <class V>
  static MaskOf<V> apply(MaskOf<V> a, MaskOf<V> b) {
    return a | b;
  }
};
struct LogicalXor {
  template <class V>
  static MaskOf<V> apply(MaskOf<V> a, MaskOf<V> b) {
    return a ^ b;
  }
};
struct LogicalNot {
  template <class V>
  static MaskOf<V> apply(MaskOf<V> x) {
    return !x;
  }
};
struct Isnan {
  template <class V>
  static MaskOf<V> apply(V x) {
    return isnan(x);
  }
};
struct Isinf {
  template <class V>
  static MaskOf<V> apply(V x) {
    return isinf(x);
  }
};
struct Isfinite {
  template <class V>
  static MaskOf<V> apply(V x) {
    return isfinite(x);
  }
};
struct BitwiseAnd {
  template <class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct BitwiseOr {
  template <class V>
  static V apply(V a, V b) {
    return a | b;
  }
};
struct BitwiseXor {
  template <class V>
  static V apply(V a, V b) {
    return a ^ b;
  }
};
// The mask names the bits that count: one of a truth value, all of an integer.
struct BitwiseNot {
  template <class V>
  static V apply(V x, Uniform<V> bits) {
    return x ^ bits;
  }
};
struct BitwiseLeftShift {
  template <class V>
  static V apply(V a, V b) {
    return a << b;
  }
};
struct BitwiseRightShift {
  template <class V>
  static V apply(V a, V b) {
    return a >> b;
  }
};

}  // namespace taeda::bodies
