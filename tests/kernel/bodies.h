// Bodies that the kernel tests run eagerly and through the printers.
#pragma once

#include "taeda/kernel/body.h"
#include "taeda/kernel/called/vec.h"

namespace taeda::kernel::test {

struct Silu {
  template <class V>
  static V apply(V x) {
    return x / (V(1.0) + exp(-x));
  }
};
struct Gelu {
  template <class V>
  static V apply(V x) {
    return V(0.5) * x * (V(1.0) + erf(x * V(0.70710678118654752440)));
  }
};
struct Softplus {
  template <class V>
  static V apply(V x, Uniform<V> beta, Uniform<V> threshold) {
    V scaled = x * beta;
    return where(scaled > threshold, x, log1p(exp(scaled)) / beta);
  }
};
struct AddScaled {
  template <class V>
  static V apply(V a, V b, Uniform<V> alpha) {
    return a + b * alpha;
  }
};
struct Lt {
  template <class V>
  static MaskOf<V> apply(V a, V b) {
    return a < b;
  }
};
struct Where {
  template <class V>
  static V apply(MaskOf<V> c, V a, V b) {
    return where(c, a, b);
  }
};
struct MaskMix {
  template <class V>
  static MaskOf<V> apply(MaskOf<V> a, V x) {
    return (a ^ isnan(x)) | !(abs(x) <= V(2.0));
  }
};
struct Trigonometry {
  template <class V>
  static V apply(V x) {
    return sin(x) * cos(x) + tan(x) - atan(x);
  }
};
struct Hyperbolic {
  template <class V>
  static V apply(V x) {
    return tanh(x) + asinh(x) * expm1(minimum(x, V(3.0)));
  }
};
struct Powers {
  template <class V>
  static V apply(V x, V y) {
    return pow(abs(x), y) + rsqrt(abs(y)) + log2(abs(x));
  }
};
struct Rounding {
  template <class V>
  static V apply(V x, V y) {
    return floor(x) + ceil(y) * round(x) - trunc(y) + copysign(x, y);
  }
};
struct Remainders {
  template <class V>
  static V apply(V x, V y) {
    return remainder(x, y) + fmod(x, y) * div_floor(x, y);
  }
};
struct Special {
  template <class V>
  static V apply(V x) {
    return erfc(x) + lgamma(x) + digamma(abs(x) + V(0.5)) + erfinv(x * V(0.1));
  }
};
struct Called {
  template <class V>
  static V apply(V x, V n) {
    return bessel_j0(x) + legendre_polynomial_p(x, n) * igamma(abs(x), abs(n));
  }
};
struct CalledIntegers {
  template <class V>
  static V apply(V a, V b) {
    return gcd(a, b) + lcm(a, b);
  }
};
struct Fused {
  template <class V>
  static V apply(V x, V y, V z) {
    return maximum(fma(x, y, z), fmin(x, z));
  }
};
struct Bits {
  template <class V>
  static V apply(V x, V y) {
    return ((x & y) | (x << (y & V(7)))) ^ (~x >> V(3));
  }
};
struct ComplexMix {
  template <class V>
  static V apply(V x, V y) {
    return exp(x) * sqrt(y) + conj(x) / (y + V(3.0)) - tanh(x);
  }
};
struct Modulus {
  template <class V>
  static RealOf<V> apply(V x) {
    return abs(x) + real(x) * imag(x);
  }
};
struct Add {
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};

}  // namespace taeda::kernel::test
