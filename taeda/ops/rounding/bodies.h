// Bodies of roundings, signs and replacements of NaN and infinities.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Floor {
  template <class V>
  static V apply(V x) {
    return floor(x);
  }
};
struct Ceil {
  template <class V>
  static V apply(V x) {
    return ceil(x);
  }
};
struct Trunc {
  template <class V>
  static V apply(V x) {
    return trunc(x);
  }
};
struct Round {
  template <class V>
  static V apply(V x) {
    return round(x);
  }
};
struct RoundDecimals {
  template <class V>
  static V apply(V x, Uniform<V> scale) {
    return round(x * scale) / scale;
  }
};
struct RoundTens {
  template <class V>
  static V apply(V x, Uniform<V> scale) {
    return round(x / scale) * scale;
  }
};
struct Frac {
  template <class V>
  static V apply(V x) {
    return x - trunc(x);
  }
};
struct Sign {
  template <class V>
  static V apply(V x) {
    return where(x > V(0), V(1), where(x < V(0), V(-1), V(0)));
  }
};
struct Sgn {
  template <class V>
  static V apply(V x) {
    const RealOf<V> r = abs(x);
    return where(r == RealOf<V>(0), V(0), make_complex<V>(real(x) / r, imag(x) / r));
  }
};
// One part of a complex value, or a real one.
struct FinitePart {
  template <class R>
  static R apply(R x, R nan, R above, R below) {
    return where(isnan(x), nan, where(isinf(x), where(x > R(0), above, below), x));
  }
};
struct NanToNum {
  template <class V>
  static V apply(V x, Uniform<V> nan, Uniform<V> above, Uniform<V> below) {
    return make_complex<V>(
        FinitePart::apply<RealOf<V>>(real(x), real(nan), real(above), real(below)),
        FinitePart::apply<RealOf<V>>(imag(x), real(nan), real(above), real(below)));
  }
};

}  // namespace taeda::bodies
