// A line search.
#include "taeda/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "taeda/ops/functions.h"

namespace taeda::optim {
namespace {

constexpr double kLeastDecrease = 1e-4;
constexpr double kMostSlope = 0.9;

// The minimum of the cubic through two points with their slopes, within bounds.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double least, double most) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (square < 0) return (least + most) / 2;
  const double d2 = std::sqrt(square);
  const LinePoint &low = a.t <= b.t ? a : b, &high = a.t <= b.t ? b : a;
  const double t =
      high.t - (high.t - low.t) * ((high.slope + d2 - d1) / (high.slope - low.slope + 2 * d2));
  return std::min(std::max(t, least), most);
}

class LineSearch {
 public:
  LineSearch(const std::function<std::pair<double, Tensor>(double)>& evaluate,
             const LinePoint& start, const Tensor& direction, int64_t max_iterations)
      : evaluate_(evaluate),
        start_(start),
        direction_(direction),
        max_iterations_(max_iterations) {}

  // Two points with a good one between them, or a good one alone.
  std::vector<LinePoint> bracket(double t) {
    LinePoint before = start_, point = at(t);
    for (; iterations_ < max_iterations_; ++iterations_) {
      const bool is_higher = iterations_ > 1 && point.loss >= before.loss;
      if (is_too_high(point) || is_higher) return {before, point};
      if (is_flat(point)) return {point};
      if (point.slope >= 0) return {before, point};
      const double least = point.t + 0.01 * (point.t - before.t);
      const double next = cubic_minimum(before, point, least, point.t * 10);
      before = std::exchange(point, at(next));
    }
    return {start_, point};
  }

  // The best point found while the two points come closer.
  LinePoint narrow(std::vector<LinePoint> points, double tolerance_change) {
    const double longest = direction_.abs().max().item<double>();
    bool is_slow = false;
    size_t low = points[0].loss <= points[1].loss ? 0 : 1;
    while (iterations_ < max_iterations_) {
      if (std::abs(points[1].t - points[0].t) * longest < tolerance_change) break;
      const LinePoint point = at(inside(points[0], points[1], is_slow));
      ++iterations_;
      if (is_too_high(point) || point.loss >= points[low].loss) {
        points[1 - low] = point;
        low = points[0].loss <= points[1].loss ? 0 : 1;
        continue;
      }
      if (is_flat(point)) return point;
      if (point.slope * (points[1 - low].t - points[low].t) >= 0) points[1 - low] = points[low];
      points[low] = point;
    }
    return points[low];
  }

  int64_t evaluations() const { return evaluations_; }

 private:
  LinePoint at(double t) {
    const auto [loss, grad] = evaluate_(t);
    ++evaluations_;
    return {t, loss, grad.clone(), grad.dot(direction_).item<double>()};
  }
  bool is_too_high(const LinePoint& point) const {
    return point.loss > start_.loss + kLeastDecrease * point.t * start_.slope;
  }
  bool is_flat(const LinePoint& point) const {
    return std::abs(point.slope) <= -kMostSlope * start_.slope;
  }
  // A step size between two, away from both ends when progress is slow; tells whether it is.
  static double inside(const LinePoint& a, const LinePoint& b, bool& is_slow) {
    const double least = std::min(a.t, b.t), most = std::max(a.t, b.t);
    const double t = cubic_minimum(a, b, least, most), margin = 0.1 * (most - least);
    if (std::min(most - t, t - least) >= margin) {
      is_slow = false;
      return t;
    }
    if (is_slow || t >= most || t <= least) {
      is_slow = false;
      return std::abs(t - most) < std::abs(t - least) ? most - margin : least + margin;
    }
    is_slow = true;
    return t;
  }

  const std::function<std::pair<double, Tensor>(double)>& evaluate_;
  const LinePoint& start_;
  const Tensor& direction_;
  int64_t max_iterations_, iterations_ = 0, evaluations_ = 0;
};

}  // namespace

LineSearchResult strong_wolfe(const std::function<std::pair<double, Tensor>(double)>& evaluate,
                              const LinePoint& start, const Tensor& direction, double first,
                              int64_t max_iterations, double tolerance_change) {
  LineSearch search(evaluate, start, direction, max_iterations);
  std::vector<LinePoint> points = search.bracket(first);
  LinePoint best = points.size() == 2 ? search.narrow(std::move(points), tolerance_change)
                                      : std::move(points[0]);
  return {std::move(best), search.evaluations()};
}

}  // namespace taeda::optim
