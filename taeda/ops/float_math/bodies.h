// Bodies of signs, angles and stable forms of sums and powers.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/ops/body_names.h"

namespace taeda::bodies {

constexpr double kDegree = 0.017453292519943295769;  // pi / 180
constexpr double kRadian = 57.295779513082320877;    // 180 / pi
constexpr double kHalfTurnAngle = 3.14159265358979323846;

struct Copysign {
  template <class V>
  static V apply(V x, V sign) {
    return copysign(x, sign);
  }
};
struct Nextafter {
  static constexpr int kCost = 4;
  template <class V>
  static V apply(V x, V y, Uniform<V> digits) {
    return nextafter(x, y, V(digits));
  }
};
struct Deg2rad {
  template <class V>
  static V apply(V x) {
    return x * V(kDegree);
  }
};
struct Rad2deg {
  template <class V>
  static V apply(V x) {
    return x * V(kRadian);
  }
};
// Equal infinities have no difference. Complex values are compared by their real parts, since those
// are the sizes of their exponentials.
struct Logaddexp {
  template <class V>
  static V apply(V a, V b) {
    const RealOf<V> x = real(a), y = real(b);
    const V sum = where(x >= y, a, b) + log1p(exp(where(x >= y, b - a, a - b)));
    return where(isinf(x) & (x == y), b, sum);
  }
};
struct Logaddexp2 {
  template <class V>
  static V apply(V a, V b) {
    const V sum = maximum(a, b) + log1p(exp2(-abs(a - b))) * V(1.44269504088896340736);
    return where(isinf(a) & (a == b), a, sum);
  }
};
struct Heaviside {
  template <class V>
  static V apply(V x, V at_zero) {
    return where(x == V(0), at_zero, where(x > V(0), V(1), V(0)));
  }
};
struct Sinc {
  template <class V>
  static V apply(V x) {
    const V angle = x * V(kHalfTurnAngle);
    return where(x == V(0), V(1), sin(angle) / angle);
  }
};
// One divided by a negative zero is negative; an integer divided by zero gives zero.
struct Signbit {
  template <class V>
  static MaskOf<V> apply(V x) {
    return (x < V(0)) | ((x == V(0)) & (V(1) / x < V(0)));
  }
};
struct Isposinf {
  template <class V>
  static MaskOf<V> apply(V x) {
    return isinf(x) & (x > V(0));
  }
};
struct Isneginf {
  template <class V>
  static MaskOf<V> apply(V x) {
    return isinf(x) & (x < V(0));
  }
};
struct Hypot {
  template <class V>
  static V apply(V a, V b) {
    const V x = abs(a), y = abs(b), large = maximum(x, y), ratio = minimum(x, y) / large;
    const V length = where(large == V(0), large, large * sqrt(V(1) + ratio * ratio));
    return where(isinf(a), x, where(isinf(b), y, length));
  }
};
struct Logit {
  template <class V>
  static V apply(V x, Uniform<V>) {
    return log(x / (V(1) - x));
  }
};
struct LogitClamped {
  template <class V>
  static V apply(V x, Uniform<V> eps) {
    const V high = V(1) - eps;
    const V p = where(x < eps, V(eps), where(x > high, high, x));
    return log(p / (V(1) - p));
  }
};

}  // namespace taeda::bodies
