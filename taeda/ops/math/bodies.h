// Bodies of elementary functions and powers.
#pragma once

#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Exp {
  template <class V>
  static V apply(V x) {
    return exp(x);
  }
};
struct Exp2 {
  template <class V>
  static V apply(V x) {
    return exp2(x);
  }
};
struct Expm1 {
  template <class V>
  static V apply(V x) {
    return expm1(x);
  }
};
struct Log {
  template <class V>
  static V apply(V x) {
    return log(x);
  }
};
struct Log2 {
  template <class V>
  static V apply(V x) {
    return log2(x);
  }
};
struct Log10 {
  template <class V>
  static V apply(V x) {
    return log10(x);
  }
};
struct Log1p {
  template <class V>
  static V apply(V x) {
    return log1p(x);
  }
};
struct Sqrt {
  template <class V>
  static V apply(V x) {
    return sqrt(x);
  }
};
struct Rsqrt {
  template <class V>
  static V apply(V x) {
    return rsqrt(x);
  }
};
struct Sin {
  template <class V>
  static V apply(V x) {
    return sin(x);
  }
};
struct Cos {
  template <class V>
  static V apply(V x) {
    return cos(x);
  }
};
struct Tan {
  template <class V>
  static V apply(V x) {
    return tan(x);
  }
};
struct Asin {
  template <class V>
  static V apply(V x) {
    return asin(x);
  }
};
struct Acos {
  template <class V>
  static V apply(V x) {
    return acos(x);
  }
};
struct Atan {
  template <class V>
  static V apply(V x) {
    return atan(x);
  }
};
struct Sinh {
  template <class V>
  static V apply(V x) {
    return sinh(x);
  }
};
struct Cosh {
  template <class V>
  static V apply(V x) {
    return cosh(x);
  }
};
struct Tanh {
  template <class V>
  static V apply(V x) {
    return tanh(x);
  }
};
struct Asinh {
  template <class V>
  static V apply(V x) {
    return asinh(x);
  }
};
struct Acosh {
  template <class V>
  static V apply(V x) {
    return acosh(x);
  }
};
struct Atanh {
  template <class V>
  static V apply(V x) {
    return atanh(x);
  }
};
struct Erf {
  template <class V>
  static V apply(V x) {
    return erf(x);
  }
};
struct Erfc {
  template <class V>
  static V apply(V x) {
    return erfc(x);
  }
};
struct Erfinv {
  template <class V>
  static V apply(V x) {
    return erfinv(x);
  }
};
struct Sigmoid {
  template <class V>
  static V apply(V x) {
    return V(1) / (V(1) + exp(-x));
  }
};
struct Reciprocal {
  template <class V>
  static V apply(V x) {
    return V(1) / x;
  }
};
struct TanhBackward {
  template <class V>
  static V apply(V grad, V y) {
    return grad * conj(V(1) - y * y);
  }
};
struct SigmoidBackward {
  template <class V>
  static V apply(V grad, V y) {
    return grad * conj((V(1) - y) * y);
  }
};
struct Atan2 {
  template <class V>
  static V apply(V y, V x) {
    return atan2(y, x);
  }
};
struct Pow {
  template <class V>
  static V apply(V x, V exponent) {
    return pow(x, exponent);
  }
};
struct PowSquare {
  template <class V>
  static V apply(V x, V) {
    return x * x;
  }
};
struct PowCube {
  template <class V>
  static V apply(V x, V) {
    return x * x * x;
  }
};

}  // namespace taeda::bodies
