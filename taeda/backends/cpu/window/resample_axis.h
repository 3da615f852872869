// The neighbours of each result along one dimension, and their weights.
#pragma once

#include <optional>
#include <vector>

#include "taeda/backends/cpu/window/axis_map.h"
#include "taeda/backends/cpu/window/resample.h"
#include "taeda/backends/cpu/window/window_rows.h"

namespace taeda::cpu {

template <class T>
struct ResampleAxis {
  struct Taps {
    int64_t first, count, weights;  // the first neighbour, how many, where their weights are
  };
  std::vector<Taps> taps;  // one per result
  std::vector<T> weights;
};

// The results [first, last) of an axis in groups of vectors; empty where neighbours lie too far
// apart, as in images that shrink.
template <class T>
class NearResults {
 public:
  NearResults() = default;
  // `width`: of the vectors.
  NearResults(const ResampleAxis<T>& axis, int width);
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  NearSums<T> sums() const {
    return {static_cast<int64_t>(starts_.size()), count_, starts_.data(), lanes_.data(),
            weights_.data()};
  }

 private:
  bool add_group(const ResampleAxis<T>& axis, int width);

  int64_t first_ = 0, last_ = 0, count_ = 0;
  std::vector<int64_t> starts_;
  std::vector<Place<T>> lanes_;
  std::vector<T> weights_;
};

// Computed in T, as PyTorch computes in the type of the elements.
template <class T>
ResampleAxis<T> resample_axis(Filter filter, int64_t in, int64_t out, bool align_corners,
                              std::optional<double> scale);
// Of filters with one neighbour, whose weight is one.
template <class T>
AxisMap nearest_axis(Filter filter, int64_t in, int64_t out, std::optional<double> scale);
// The same for images, of which PyTorch rounds all places in float, and for Nearest copies those
// that keep their size and halves the indices of those twice as large, whatever the scale says.
AxisMap nearest_image_axis(Filter filter, int64_t in, int64_t out, std::optional<double> scale);

}  // namespace taeda::cpu
