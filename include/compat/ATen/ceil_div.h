// Division that rounds up.
#pragma once

#include "c10/macros/Macros.h"

namespace at {
template <class T>
C10_HOST_DEVICE constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
C10_HOST_DEVICE constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}
}  // namespace at
