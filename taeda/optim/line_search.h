// A line search: a step size that fulfils the strong Wolfe conditions.
#pragma once

#include <functional>
#include <utility>

#include "taeda/core/tensor.h"

namespace taeda::optim {

// A step size, with the loss, the gradient and its part along the direction there.
struct LinePoint {
  double t = 0;
  double loss = 0;
  Tensor grad;
  double slope = 0;
};

struct LineSearchResult {
  LinePoint best;
  int64_t evaluations = 0;
};

// A good point on the line from `start` along `direction`: the loss falls by at least 1e-4 of what
// the slope at the start promises, and the slope is at most 0.9 of that one. `evaluate(t)` gives
// loss and gradient; `first` is the size to begin with.
LineSearchResult strong_wolfe(const std::function<std::pair<double, Tensor>(double)>& evaluate,
                              const LinePoint& start, const Tensor& direction, double first,
                              int64_t max_iterations, double tolerance_change = 1e-9);

}  // namespace taeda::optim
