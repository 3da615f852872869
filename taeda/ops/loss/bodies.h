// Bodies of the losses.
#pragma once

#include "taeda/kernel/body.h"

namespace taeda::bodies {

struct SquaredDifference {
  template <class V>
  static V apply(V a, V b) {
    const V d = a - b;
    return d * d;
  }
};

}  // namespace taeda::bodies
