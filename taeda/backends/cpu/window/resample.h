// Images in other sizes: each result is a weighted sum of neighbours, dimension by dimension.
#pragma once

#include <optional>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Which neighbours count, and how much. Wide filters reach as far as the result's elements are
// apart, so that none is left out when an image shrinks.
enum class Filter : uint8_t {
  Nearest,
  NearestExact,
  Linear,
  Cubic,
  WideLinear,
  WideCubic,
  WideLanczos
};

// From `self` to `out` in their last dimensions, one scale per dimension: how much greater the
// result is, where that is not what the sizes say.
void resample(Filter filter, const Tensor& self, bool align_corners,
              const std::vector<std::optional<double>>& scales, Tensor& out);
void resample_backward(Filter filter, const Tensor& grad, bool align_corners,
                       const std::vector<std::optional<double>>& scales, Tensor& out);

}  // namespace taeda::cpu
