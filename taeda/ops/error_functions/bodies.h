// Bodies of the scaled error function and of the normal distribution.
#pragma once

#include "taeda/kernel/called/vec.h"
#include "taeda/ops/body_names.h"

namespace taeda::bodies {

struct SpecialErfcx {
  static constexpr int kCost = 16;
  template <class V>
  static V apply(V x) {
    return erfcx(x);
  }
};
struct SpecialLogNdtr {
  static constexpr int kCost = 16;
  template <class V>
  static V apply(V x) {
    return log_ndtr(x);
  }
};
struct SpecialNdtri {
  static constexpr int kCost = 64;
  template <class V>
  static V apply(V p) {
    return ndtri(p);
  }
};

}  // namespace taeda::bodies
