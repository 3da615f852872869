// Weights of resampling filters.
#include "taeda/backends/cpu/window/resample_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace taeda::cpu {
namespace {

// Elements of the input per element of the result.
template <class T>
T step_of(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  if (scale && *scale > 0) return static_cast<T>(1 / *scale);
  return static_cast<T>(in) / static_cast<T>(out);
}

// A cubic that passes through its points; `a` is the slope of its outer part, from 1 to 2.
template <class T>
T inner_cubic(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T outer_cubic(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class T>
T cubic(T x, T a) {
  x = std::abs(x);
  return x < 1 ? inner_cubic(x, a) : x < 2 ? outer_cubic(x, a) : T(0);
}

// The weights of the four neighbours of a place between the second and the third.
template <class T>
std::array<T, 4> cubic_weights(T rest) {
  const T a = T(-0.75), back = 1 - rest;
  return {outer_cubic(rest + 1, a), inner_cubic(rest, a), inner_cubic(back, a),
          outer_cubic(back + 1, a)};
}

template <class T>
T sinc(T x) {
  if (x == 0) return 1;
  const T angle = x * std::numbers::pi_v<T>;
  return std::sin(angle) / angle;
}

template <class T>
T wide_weight(Filter filter, T x) {
  switch (filter) {
    case Filter::WideLinear: return std::max(T(0), 1 - std::abs(x));
    case Filter::WideCubic: return cubic(x, T(-0.5));
    default: return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : T(0);
  }
}

// Neighbours that lie inside the filter as it is stretched, weights that add up to one.
template <class T>
void add_wide(Filter filter, int64_t o, int64_t in, T step, ResampleAxis<T>& axis) {
  const T reach = filter == Filter::WideLinear ? 1 : filter == Filter::WideCubic ? 2 : 3;
  const T stretch = std::max(step, T(1)), squeeze = 1 / stretch, support = reach * stretch;
  const T center = step * (static_cast<T>(o) + T(0.5));
  const int64_t most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0);
  const int64_t last = std::min<int64_t>(static_cast<int64_t>(center + support + T(0.5)), in);
  const int64_t count = std::clamp<int64_t>(last - first, 0, most);
  const auto at = static_cast<int64_t>(axis.weights.size());
  axis.taps.push_back({first, count, at});
  T total = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double x = (static_cast<T>(k + first) - center + 0.5) * squeeze;
    axis.weights.push_back(wide_weight(filter, static_cast<T>(x)));
    total += axis.weights.back();
  }
  if (total != 0)
    for (int64_t k = 0; k < count; ++k) axis.weights[at + k] /= total;
}

// Two or four neighbours around a place; those outside the input are its border.
template <class T>
void add_around(Filter filter, int64_t o, int64_t in, T step, bool align_corners,
                ResampleAxis<T>& axis) {
  const bool is_cubic = filter == Filter::Cubic;
  T place = step * static_cast<T>(o);
  if (!align_corners) {
    place = step * (static_cast<T>(o) + T(0.5)) - T(0.5);
    if (!is_cubic) place = std::max(place, T(0));
  }
  const int64_t below = std::min<int64_t>(static_cast<int64_t>(std::floor(place)), in - 1);
  const T rest = std::clamp(place - static_cast<T>(below), T(0), T(1));
  const int64_t reach = is_cubic ? 2 : 1;
  const int64_t first = std::clamp<int64_t>(below - reach + 1, 0, in - 1);
  const int64_t last = std::clamp<int64_t>(below + reach, 0, in - 1);
  const auto at = static_cast<int64_t>(axis.weights.size());
  axis.taps.push_back({first, last - first + 1, at});
  axis.weights.resize(at + last - first + 1, T(0));
  const std::array<T, 4> cubics = cubic_weights(rest);
  for (int64_t k = 1 - reach; k <= reach; ++k) {
    const T weight = is_cubic ? cubics[k + 1] : k == 0 ? 1 - rest : rest;
    axis.weights[at + std::clamp<int64_t>(below + k, 0, in - 1) - first] += weight;
  }
}

// As many results as elements: each is itself, whatever the scale says.
template <class T>
void add_itself(int64_t o, ResampleAxis<T>& axis) {
  axis.taps.push_back({o, 1, static_cast<int64_t>(axis.weights.size())});
  axis.weights.push_back(T(1));
}

}  // namespace

template <class T>
NearResults<T>::NearResults(const ResampleAxis<T>& axis, int width) {
  const auto n = static_cast<int64_t>(axis.taps.size());
  for (const auto& taps : axis.taps) count_ = std::max(count_, taps.count);
  // Fewer neighbours at the borders.
  while (first_ < n && axis.taps[first_].count != count_) ++first_;
  last_ = first_;
  while (last_ + width <= n && add_group(axis, width)) last_ += width;
}

template <class T>
bool NearResults<T>::add_group(const ResampleAxis<T>& axis, int width) {
  const auto* const taps = axis.taps.data() + last_;
  const int64_t start = taps[0].first;
  for (int o = 0; o < width; ++o)
    if (taps[o].count != count_ || taps[o].first < start || taps[o].first >= start + width)
      return false;
  starts_.push_back(start);
  for (int o = 0; o < width; ++o) lanes_.push_back(static_cast<Place<T>>(taps[o].first - start));
  for (int64_t k = 0; k < count_; ++k)
    for (int o = 0; o < width; ++o) weights_.push_back(axis.weights[taps[o].weights + k]);
  return true;
}

template <class T>
ResampleAxis<T> resample_axis(Filter filter, int64_t in, int64_t out, bool align_corners,
                              std::optional<double> scale) {
  ResampleAxis<T> axis;
  const T step = step_of<T>(in, out, align_corners, scale);
  for (int64_t o = 0; o < out; ++o) {
    if (filter >= Filter::WideLinear)
      add_wide(filter, o, in, step, axis);
    else if (filter == Filter::Linear && in == out)
      add_itself(o, axis);
    else
      add_around(filter, o, in, step, align_corners, axis);
  }
  return axis;
}

template <class T>
AxisMap nearest_axis(Filter filter, int64_t in, int64_t out, std::optional<double> scale) {
  const T step = step_of<T>(in, out, false, scale);
  AxisMap map{std::vector<int64_t>(out), in};
  for (int64_t o = 0; o < out; ++o) {
    T place = step * static_cast<T>(o);
    if (filter == Filter::NearestExact)
      place = std::max(step * (static_cast<T>(o) + T(0.5)) - T(0.5), T(0)) + T(0.5);
    map.from[o] = std::min(static_cast<int64_t>(std::floor(static_cast<float>(place))), in - 1);
  }
  return map;
}

AxisMap nearest_image_axis(Filter filter, int64_t in, int64_t out, std::optional<double> scale) {
  const bool is_exact = filter == Filter::NearestExact;
  if (!is_exact && in == out) return AxisMap::identity(in);
  const bool is_double = !is_exact && out == 2 * in;
  const float step = step_of<float>(in, out, false, scale);
  AxisMap map{std::vector<int64_t>(out), in};
  for (int64_t o = 0; o < out; ++o) {
    const float place = is_exact ? static_cast<float>((static_cast<double>(o) + 0.5) * step)
                                 : static_cast<float>(o) * step;
    map.from[o] = is_double ? o / 2 : std::min(static_cast<int64_t>(std::floor(place)), in - 1);
  }
  return map;
}

template class NearResults<float>;
template class NearResults<double>;
template ResampleAxis<float> resample_axis(Filter, int64_t, int64_t, bool, std::optional<double>);
template ResampleAxis<double> resample_axis(Filter, int64_t, int64_t, bool, std::optional<double>);
template AxisMap nearest_axis<float>(Filter, int64_t, int64_t, std::optional<double>);
template AxisMap nearest_axis<double>(Filter, int64_t, int64_t, std::optional<double>);

}  // namespace taeda::cpu
