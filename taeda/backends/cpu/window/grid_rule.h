// How a number of a grid becomes a place among the elements of one dimension.
#pragma once

#include <cstdint>

namespace taeda::cpu {

enum GridMode : int64_t { kBilinear, kNearest, kBicubic };
enum GridPadding : int64_t { kZeros, kBorder, kReflection };

struct GridRule {
  int64_t mode, padding;
  bool align_corners;
  // Whether places that are no number go to the first element, as they do in the loops of PyTorch
  // for planes; in the others they go to the last one.
  bool has_first_for_nan = false;
};

// What sources of several instruction sets compile has a name for each.
inline namespace TAEDA_ISA {

// From [-1, 1] to elements.
template <class T>
T element_at(T place, int64_t size, bool align_corners) {
  return align_corners ? (place + 1) / 2 * static_cast<T>(size - 1)
                       : ((place + 1) * static_cast<T>(size) - 1) / 2;
}

// The weights of four neighbours by a cubic through its points with slopes of -0.75 outside, and
// their derivatives by the place, which is `t` behind the second.
template <class T>
struct CubicWeights {
  T weight[4], slope[4];
  explicit CubicWeights(T t) {
    const T a = T(-0.75);
    const T distance[] = {t + 1, t, 1 - t, (1 - t) + 1};
    for (int k = 0; k < 4; ++k) {
      const T x = distance[k], sign = k < 2 ? T(1) : T(-1);
      const bool is_outer = k == 0 || k == 3;
      weight[k] = is_outer ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                           : ((a + 2) * x - (a + 3)) * x * x + 1;
      slope[k] = sign * (is_outer ? (3 * a * x - 10 * a) * x + 8 * a
                                  : (3 * (a + 2) * x - 2 * (a + 3)) * x);
    }
  }
};

}  // namespace TAEDA_ISA
}  // namespace taeda::cpu
