// The neighbours of each result along one dimension, and their weights.
#pragma once

#include <optional>
#include <vector>

#include "taeda/backends/cpu/window/axis_map.h"
#include "taeda/backends/cpu/window/resample.h"

namespace taeda::cpu {

template <class T>
struct ResampleAxis {
  struct Taps {
    int64_t first, count, weights;  // the first neighbour, how many, where their weights are
  };
  std::vector<Taps> taps;  // one per result
  std::vector<T> weights;
};

// Computed in T, as PyTorch computes in the type of the elements.
template <class T>
ResampleAxis<T> resample_axis(Filter filter, int64_t in, int64_t out, bool align_corners,
                              std::optional<double> scale);
// Of filters with one neighbour, whose weight is one.
template <class T>
AxisMap nearest_axis(Filter filter, int64_t in, int64_t out, std::optional<double> scale);

}  // namespace taeda::cpu
