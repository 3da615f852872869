// Bodies of common divisors and multiples.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct Gcd {
  static constexpr int kCost = 16;
  template <class V>
  static V apply(V a, V b) {
    return gcd(a, b);
  }
};
struct Lcm {
  static constexpr int kCost = 16;
  template <class V>
  static V apply(V a, V b) {
    return lcm(a, b);
  }
};

}  // namespace taeda::bodies
