// Samples planes at the places of a grid in one instruction set.
//
// Everything about the places is found by loops over arrays, without branches (nor comparisons that
// only one side of a choice makes), which compile to vectors; then each channel reads its elements
// by the same offsets. An offset of -1 is outside: an element of value zero.
#pragma GCC optimize("O3")
// Lets floor become vectors: nobody reads the flags of floating point.
#pragma GCC optimize("no-trapping-math")
#include "taeda/backends/cpu/window/plane_sampler.h"

#include <algorithm>
#include <cmath>

namespace taeda::cpu {
namespace {

// kTaps: neighbours along one dimension; 1 nearest, 2 bilinear, 4 bicubic.
template <class T, int kTaps>
class PlaneSampler {
 public:
  // Slopes are for backward_grid alone.
  PlaneSampler(const PlanePlaces<T>& places, bool has_slopes)
      : count_(places.count), rule_(places.rule) {
    const int64_t count = count_, width = places.width;
    Axis x, y;
    find(places.grid, width, x);
    find(places.grid + 1, places.height, y);
    for (int j = 0; j < kTaps; ++j)
      for (int l = 0; l < kTaps; ++l) {
        Tap& tap = taps_[j * kTaps + l];
        for (int64_t i = 0; i < count; ++i) {
          const int32_t at = y.index[j][i] * static_cast<int32_t>(width) + x.index[l][i];
          tap.offset[i] = (y.index[j][i] | x.index[l][i]) < 0 ? -1 : at;
        }
        if constexpr (kTaps == 1) continue;  // weights are one, slopes zero
        for (int64_t i = 0; i < count; ++i) tap.weight[i] = y.weight[j][i] * x.weight[l][i];
        if (!has_slopes) continue;
        for (int64_t i = 0; i < count; ++i) {
          tap.slope_x[i] = y.weight[j][i] * x.slope[l][i];
          tap.slope_y[i] = y.slope[j][i] * x.weight[l][i];
        }
      }
  }

  void forward(const T* __restrict plane, T* __restrict out) const {
    if constexpr (kTaps == 1) {
      for (int64_t i = 0; i < count_; ++i) out[i] = value(plane, taps_[0].offset[i]);
    } else {
      for (int64_t i = 0; i < count_; ++i) {
        T sum = 0;
        for (const Tap& tap : taps_) sum += value(plane, tap.offset[i]) * tap.weight[i];
        out[i] = sum;
      }
    }
  }

  void backward_input(const T* grad, T* grad_plane) const {
    for (int64_t i = 0; i < count_; ++i)
      for (const Tap& tap : taps_) {
        if (tap.offset[i] < 0) continue;
        grad_plane[tap.offset[i]] += kTaps == 1 ? grad[i] : grad[i] * tap.weight[i];
      }
  }

  // Adds to x and y of each place. The nearest element does not move with its place.
  void backward_grid(const T* grad, const T* plane, T* grad_grid) const {
    if constexpr (kTaps == 1) return;
    for (int64_t i = 0; i < count_; ++i) {
      T by_x = 0, by_y = 0;
      for (const Tap& tap : taps_) {
        const T v = value(plane, tap.offset[i]);
        by_x += v * tap.slope_x[i];
        by_y += v * tap.slope_y[i];
      }
      grad_grid[2 * i] += grad[i] * by_x;
      grad_grid[2 * i + 1] += grad[i] * by_y;
    }
  }

 private:
  struct Tap {
    int32_t offset[kPlaneChunk];
    T weight[kPlaneChunk], slope_x[kPlaneChunk], slope_y[kPlaneChunk];
  };
  struct Axis {
    int32_t index[kTaps][kPlaneChunk];  // -1: outside
    T weight[kTaps][kPlaneChunk], slope[kTaps][kPlaneChunk];
  };

  // Reads in any case: a branch would be guessed wrong too often.
  static T value(const T* plane, int32_t offset) {
    const T v = plane[std::max<int32_t>(offset, 0)];
    return offset < 0 ? T(0) : v;
  }

  void find(const T* grid, int64_t size, Axis& axis) const {
    const T stretch = static_cast<T>(rule_.align_corners ? size - 1 : size) / 2;
    T place[kPlaneChunk], slope[kPlaneChunk];
    for (int64_t i = 0; i < count_; ++i) {
      place[i] = element_at(grid[2 * i], size, rule_.align_corners);
      slope[i] = stretch;
    }
    if constexpr (kTaps == 4) {
      T below[kPlaneChunk], tap[kPlaneChunk], unused[kPlaneChunk] = {};
      for (int64_t i = 0; i < count_; ++i) {
        below[i] = std::floor(place[i]);
        const CubicWeights<T> weights(place[i] - below[i]);
        for (int k = 0; k < 4; ++k) {
          axis.weight[k][i] = weights.weight[k];
          axis.slope[k][i] = weights.slope[k] * stretch;
        }
      }
      for (int k = 0; k < 4; ++k) {
        for (int64_t i = 0; i < count_; ++i) tap[i] = below[i] + static_cast<T>(k - 1);
        bring_inside(tap, unused, size);
        put_indices(tap, size, axis.index[k]);
      }
    } else if constexpr (kTaps == 2) {
      bring_inside(place, slope, size);
      T below[kPlaneChunk], above[kPlaneChunk];
      for (int64_t i = 0; i < count_; ++i) {
        below[i] = std::floor(place[i]);
        above[i] = below[i] + 1;
        const T rest = place[i] - below[i];
        axis.weight[0][i] = 1 - rest;
        axis.weight[1][i] = rest;
        axis.slope[0][i] = -slope[i];
        axis.slope[1][i] = slope[i];
      }
      put_indices(below, size, axis.index[0]);
      put_indices(above, size, axis.index[1]);
    } else {
      bring_inside(place, slope, size);
      for (int64_t i = 0; i < count_; ++i) place[i] = std::nearbyint(place[i]);
      put_indices(place, size, axis.index[0]);
    }
  }

  void put_indices(const T* place, int64_t size, int32_t* index) const {
    const T end = static_cast<T>(size);
    for (int64_t i = 0; i < count_; ++i)
      index[i] = static_cast<int32_t>((place[i] >= 0) & (place[i] < end) ? place[i] : T(-1));
  }

  void bring_inside(T* place, T* slope, int64_t size) const {
    if (rule_.padding == kReflection) reflect(place, slope, size);
    if (rule_.padding == kZeros) return;
    const T last = static_cast<T>(size - 1), for_nan = rule_.has_first_for_nan ? T(0) : last;
    for (int64_t i = 0; i < count_; ++i) {
      const bool is_inside = (place[i] > 0) & (place[i] < last);
      const bool is_first = place[i] <= 0, is_number = place[i] == place[i];
      const T nearest = is_first ? T(0) : last, other = is_number ? nearest : for_nan;
      slope[i] = is_inside ? slope[i] : T(0);
      place[i] = is_inside ? place[i] : other;
    }
  }

  // Back between the borders, as a mirror would have it: places repeat after twice the span.
  void reflect(T* place, T* slope, int64_t size) const {
    const T low = rule_.align_corners ? T(0) : T(-0.5);
    const T period = 2 * static_cast<T>(rule_.align_corners ? size - 1 : size);
    if (period == 0) {
      std::fill_n(place, count_, T(0));
      std::fill_n(slope, count_, T(0));
      return;
    }
    if (rule_.has_first_for_nan) {
      // Past two to the 31st reflections PyTorch's loops for planes have no digits left.
      const T far = T(0x1p31) * static_cast<T>(size);
      for (int64_t i = 0; i < count_; ++i) {
        const bool is_near = std::abs(place[i]) < far;
        place[i] = is_near ? place[i] : T(0);
        slope[i] = is_near ? slope[i] : T(0);
      }
    }
    for (int64_t i = 0; i < count_; ++i) {
      const T from_low = place[i] - low, x = std::abs(from_low);
      const T extra = x - std::floor(x / period) * period, back = period - extra;
      const T side = from_low < 0 ? T(-1) : T(1), turn = extra > back ? T(-1) : T(1);
      place[i] = (extra > back ? back : extra) + low;
      slope[i] *= side * turn;
    }
  }

  int64_t count_;
  GridRule rule_;
  Tap taps_[kTaps * kTaps];
};

template <class T, class Body>
void with_sampler(const PlanePlaces<T>& places, bool has_slopes, const Body& body) {
  if (places.rule.mode == kNearest)
    body(PlaneSampler<T, 1>(places, has_slopes));
  else if (places.rule.mode == kBilinear)
    body(PlaneSampler<T, 2>(places, has_slopes));
  else
    body(PlaneSampler<T, 4>(places, has_slopes));
}

template <class T>
void forward(const PlanePlaces<T>& places, const PlaneChannels& channels, const T* input, T* out) {
  with_sampler(places, false, [&](const auto& sampler) {
    for (int64_t c = 0; c < channels.count; ++c)
      sampler.forward(input + c * channels.plane, out + c * channels.places);
  });
}

template <class T>
void backward(const PlanePlaces<T>& places, const PlaneChannels& channels, const T* grad,
              const T* input, T* grad_input, T* grad_grid) {
  with_sampler(places, grad_grid != nullptr, [&](const auto& sampler) {
    for (int64_t c = 0; c < channels.count; ++c) {
      const T* const g = grad + c * channels.places;
      if (grad_input) sampler.backward_input(g, grad_input + c * channels.plane);
      if (grad_grid) sampler.backward_grid(g, input + c * channels.plane, grad_grid);
    }
  });
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
#define TAEDA_PLANE_KERNELS(type)                                                     \
  extern const PlaneKernels<type> TAEDA_JOIN(type##_plane_kernels_, TAEDA_ISA);       \
  constinit const PlaneKernels<type> TAEDA_JOIN(type##_plane_kernels_, TAEDA_ISA) = { \
      &forward<type>, &backward<type>};
TAEDA_PLANE_KERNELS(float)
TAEDA_PLANE_KERNELS(double)

}  // namespace taeda::cpu
