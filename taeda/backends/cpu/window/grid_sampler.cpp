// Elements at the places of a grid on the CPU, and the gradients for both.
//
// Planes are in plane_sampler.isa.cpp, but for those of two to the 31st elements. For the rest, two
// dimensions are three of which the first has one element: each place has a few neighbours per
// dimension with weights and the weights' derivatives; their products serve all channels.
#pragma GCC optimize("O3")
#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/backends/cpu/resample_declarations.h"
#include "taeda/backends/cpu/window/plane_sampler.h"
#include "taeda/backends/cpu/window/volume.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/resample/declarations.h"

namespace taeda::cpu {
namespace {

template <class T>
struct Coordinate {
  T value, slope;  // slope: by the number in the grid
};

// Back between the borders, as a mirror would have it.
template <class T>
void reflect(Coordinate<T>& c, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5);
  const T span = static_cast<T>(align_corners ? size - 1 : size);
  if (span == 0) {
    c = {T(0), T(0)};
    return;
  }
  T x = c.value - low;
  if (x < 0) {
    x = -x;
    c.slope = -c.slope;
  }
  const T extra = std::fmod(x, span);
  const bool is_flipped = std::fmod(std::floor(x / span), T(2)) != 0;
  c.value = (is_flipped ? span - extra : extra) + low;
  if (is_flipped) c.slope = -c.slope;
}

template <class T>
void clip(Coordinate<T>& c, int64_t size, bool has_first_for_nan) {
  const T last = static_cast<T>(size - 1);
  if (c.value > 0 && c.value < last) return;
  const bool is_first = std::isnan(c.value) ? has_first_for_nan : c.value <= 0;
  c = {is_first ? T(0) : last, T(0)};
}

template <class T>
void bring_inside(Coordinate<T>& c, int64_t size, const GridRule& rule) {
  // Past two to the 31st reflections PyTorch's loops for planes have no digits left.
  const bool is_far = rule.has_first_for_nan && !(std::abs(c.value) < T(0x1p31) * size);
  if (rule.padding == kReflection && is_far)
    c = {T(0), T(0)};
  else if (rule.padding == kReflection)
    reflect(c, size, rule.align_corners);
  if (rule.padding != kZeros) clip(c, size, rule.has_first_for_nan);
}

// Neighbours along one dimension; those outside are left out.
template <class T>
struct Neighbours {
  int64_t count = 0, index[4];
  T weight[4], slope[4];

  void add(T place, int64_t size, T w, T s) {
    if (!(place >= 0 && place < static_cast<T>(size))) return;
    index[count] = static_cast<int64_t>(place);
    weight[count] = w;
    slope[count++] = s;
  }
};

template <class T>
Neighbours<T> neighbours(T place, int64_t size, const GridRule& rule) {
  const T stretch = static_cast<T>(rule.align_corners ? size - 1 : size) / 2;
  Coordinate<T> c{element_at(place, size, rule.align_corners), stretch};
  Neighbours<T> out;
  if (rule.mode == kBicubic) {
    const T below = std::floor(c.value);
    const CubicWeights<T> weights(c.value - below);
    for (int k = 0; k < 4; ++k) {
      Coordinate<T> tap{below + static_cast<T>(k - 1), T(1)};
      bring_inside(tap, size, rule);
      out.add(tap.value, size, weights.weight[k], weights.slope[k] * c.slope);
    }
    return out;
  }
  bring_inside(c, size, rule);
  if (rule.mode == kNearest) {
    out.add(std::nearbyint(c.value), size, T(1), T(0));
    return out;
  }
  const T below = std::floor(c.value), rest = c.value - below;
  out.add(below, size, 1 - rest, -c.slope);
  out.add(below + 1, size, rest, c.slope);
  return out;
}

// One neighbour of a place in its plane.
template <class T>
struct Tap {
  int64_t offset;
  T weight, slope[3];  // slopes by x, y and z
};

template <class T>
class GridSampler {
 public:
  GridSampler(const Tensor& input, const Tensor& grid, const GridRule& rule)
      : spatial_(input.dim() - 2),
        in_(input, spatial_, MemoryFormat::Contiguous),
        channels_(input.size(1)),
        places_(grid.numel() / std::max<int64_t>(1, grid.size(0) * spatial_)),
        grid_(grid.data<T>()),
        rule_(rule) {
    rule_.has_first_for_nan = spatial_ == 2 && rule.mode != kBicubic;
    is_small_plane_ = spatial_ == 2 && in_.plane() < std::numeric_limits<int32_t>::max();
  }

  int64_t places() const { return places_; }

  // At most kChunk places at once.
  static constexpr int64_t kChunk = kPlaneChunk;

  void forward(const T* input, int64_t n, int64_t first, int64_t last, T* out) const {
    if (is_small_plane_) {
      plane_kernels<T>().forward(plane_places(n, first, last), plane_channels(),
                                 input + n * channels_ * in_.plane(),
                                 out + n * channels_ * places_ + first);
      return;
    }
    if (rule_.mode == kNearest) return forward_nearest(input, n, first, last, out);
    std::vector<Tap<T>> taps;
    std::vector<int64_t> ends;
    list_taps(n, first, last, taps, ends);
    for (int64_t c = 0; c < channels_; ++c) {
      const T* const plane = input + (n * channels_ + c) * in_.plane();
      T* const to = out + (n * channels_ + c) * places_;
      for (int64_t i = first, t = 0; i < last; ++i) {
        T sum = 0;
        for (; t < ends[i - first]; ++t) sum += plane[taps[t].offset] * taps[t].weight;
        to[i] = sum;
      }
    }
  }

  // Both gradients have zeros; either may be null.
  void backward(const T* grad, const T* input, int64_t n, T* grad_input, T* grad_grid) const {
    if (is_small_plane_) return backward_planes(grad, input, n, grad_input, grad_grid);
    std::vector<Tap<T>> taps;
    std::vector<int64_t> ends;
    list_taps(n, 0, places_, taps, ends);
    for (int64_t c = 0; c < channels_; ++c) {
      const int64_t start = (n * channels_ + c) * in_.plane();
      const T* const g = grad + (n * channels_ + c) * places_;
      for (int64_t i = 0, t = 0; i < places_; ++i)
        for (; t < ends[i]; ++t) {
          if (grad_input && !std::isnan(taps[t].weight))
            grad_input[start + taps[t].offset] += g[i] * taps[t].weight;
          if (!grad_grid) continue;
          const T value = g[i] * input[start + taps[t].offset];
          for (int64_t d = 0; d < spatial_; ++d)
            grad_grid[(n * places_ + i) * spatial_ + d] += value * taps[t].slope[d];
        }
    }
  }

 private:
  PlanePlaces<T> plane_places(int64_t n, int64_t first, int64_t last) const {
    return {grid_ + (n * places_ + first) * 2, last - first, in_.size[1], in_.size[2], rule_};
  }
  PlaneChannels plane_channels() const { return {channels_, in_.plane(), places_}; }

  void backward_planes(const T* grad, const T* input, int64_t n, T* grad_input,
                       T* grad_grid) const {
    const int64_t start = n * channels_ * in_.plane();
    for (int64_t first = 0; first < places_; first += kChunk)
      plane_kernels<T>().backward(plane_places(n, first, std::min(first + kChunk, places_)),
                                  plane_channels(), grad + n * channels_ * places_ + first,
                                  input + start, grad_input ? grad_input + start : nullptr,
                                  grad_grid ? grad_grid + (n * places_ + first) * 2 : nullptr);
  }

  // Along one dimension, the nearest element to each place; -1 outside. Plain loops, which compile
  // to vectors.
  void nearest(const T* at, int64_t count, int64_t size, T* index) const {
    const T last = static_cast<T>(size - 1);
    for (int64_t i = 0; i < count; ++i)
      index[i] = element_at(at[i * spatial_], size, rule_.align_corners);
    if (rule_.padding == kReflection)
      for (int64_t i = 0; i < count; ++i) {
        Coordinate<T> c{index[i], T(0)};
        bring_inside(c, size, rule_);
        index[i] = c.value;
      }
    if (rule_.padding == kBorder) {
      const T for_nan = rule_.has_first_for_nan ? T(0) : last;
      for (int64_t i = 0; i < count; ++i) {
        const T inside = index[i] > 0 ? (index[i] < last ? index[i] : last) : T(0);
        index[i] = index[i] == index[i] ? inside : for_nan;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const T whole = std::nearbyint(index[i]);
      index[i] = whole >= 0 && whole <= last ? whole : T(-1);
    }
  }

  void forward_nearest(const T* input, int64_t n, int64_t first, int64_t last, T* out) const {
    const int64_t count = last - first;
    T index[3][kChunk];
    int64_t offsets[kChunk];
    for (int64_t d = 0; d < spatial_; ++d)
      nearest(grid_ + (n * places_ + first) * spatial_ + d, count, in_.size[2 - d], index[d]);
    for (int64_t i = 0; i < count; ++i) {
      const T x = index[0][i], y = index[1][i], z = spatial_ == 3 ? index[2][i] : T(0);
      const bool is_inside = x >= 0 && y >= 0 && z >= 0;
      offsets[i] = is_inside ? (static_cast<int64_t>(z) * in_.size[1] + static_cast<int64_t>(y)) *
                                       in_.size[2] +
                                   static_cast<int64_t>(x)
                             : -1;
    }
    for (int64_t c = 0; c < channels_; ++c) {
      const T* const plane = input + (n * channels_ + c) * in_.plane();
      T* const to = out + (n * channels_ + c) * places_ + first;
      for (int64_t i = 0; i < count; ++i) to[i] = offsets[i] >= 0 ? plane[offsets[i]] : T(0);
    }
  }

  // In planes with zeros around them, what has no finite place is NaN: the weights of its
  // neighbours are, be there elements or not.
  bool is_nowhere(const T* at) const {
    return spatial_ == 2 && rule_.padding == kZeros && rule_.mode != kNearest &&
           !(std::isfinite(at[0]) && std::isfinite(at[1]));
  }

  // The neighbours of places one after the other, and where those of each end.
  void list_taps(int64_t n, int64_t first, int64_t last, std::vector<Tap<T>>& taps,
                 std::vector<int64_t>& ends) const {
    static constexpr GridRule kOnlyOne{kNearest, kBorder, true};
    for (int64_t i = first; i < last; ++i) {
      const T* const at = grid_ + (n * places_ + i) * spatial_;
      if (is_nowhere(at)) {
        constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
        taps.push_back({0, kNaN, {kNaN, kNaN, kNaN}});
        ends.push_back(static_cast<int64_t>(taps.size()));
        continue;
      }
      const auto x = neighbours(at[0], in_.size[2], rule_),
                 y = neighbours(at[1], in_.size[1], rule_);
      const auto z =
          spatial_ == 3 ? neighbours(at[2], in_.size[0], rule_) : neighbours(T(0), 1, kOnlyOne);
      for (int64_t k = 0; k < z.count; ++k)
        for (int64_t j = 0; j < y.count; ++j)
          for (int64_t l = 0; l < x.count; ++l)
            taps.push_back(
                {(z.index[k] * in_.size[1] + y.index[j]) * in_.size[2] + x.index[l],
                 z.weight[k] * y.weight[j] * x.weight[l],
                 {z.weight[k] * y.weight[j] * x.slope[l], z.weight[k] * y.slope[j] * x.weight[l],
                  z.slope[k] * y.weight[j] * x.weight[l]}});
      ends.push_back(static_cast<int64_t>(taps.size()));
    }
  }

  int64_t spatial_;
  Volume in_;
  int64_t channels_, places_;
  const T* grid_;
  GridRule rule_;
  bool is_small_plane_;
};

DType sampled_in(DType t) { return t == DType::Double ? t : DType::Float; }

template <class T>
void sample(const Tensor& input, const Tensor& grid, const GridRule& rule, const Tensor& out) {
  const GridSampler<T> sampler(input, grid, rule);
  const int64_t chunk = GridSampler<T>::kChunk, chunks = (sampler.places() + chunk - 1) / chunk;
  parallel_for(0, input.size(0) * chunks, 4, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t start = i % chunks * chunk;
      sampler.forward(input.data<T>(), i / chunks, start, std::min(start + chunk, sampler.places()),
                      out.data<T>());
    }
  });
}

void sample_grid(const Tensor& input, const Tensor& grid, const GridRule& rule, Tensor& out) {
  if (out.numel() == 0) return;
  const DType dtype = sampled_in(input.dtype());
  const Tensor x = input.to(dtype).contiguous(), places = grid.to(dtype).contiguous();
  const bool is_direct = out.dtype() == dtype && out.is_contiguous();
  const Tensor made = is_direct ? out : taeda::empty(out.sizes(), dtype);
  (dtype == DType::Double ? &sample<double> : &sample<float>)(x, places, rule, made);
  if (!is_direct) out.copy_(made);
}

template <class T>
void sample_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                     const GridRule& rule, const Tensor& grad_input, const Tensor& grad_grid) {
  const GridSampler<T> sampler(input, grid, rule);
  parallel_for(0, input.size(0), 1, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n)
      sampler.backward(grad.data<T>(), input.data<T>(), n,
                       grad_input.defined() ? grad_input.data<T>() : nullptr,
                       grad_grid.defined() ? grad_grid.data<T>() : nullptr);
  });
}

std::tuple<Tensor, Tensor> grid_gradients(const Tensor& grad, const Tensor& input,
                                          const Tensor& grid, const GridRule& rule,
                                          Span<bool> mask) {
  const DType dtype = sampled_in(input.dtype());
  const Tensor g = grad.to(dtype).contiguous(), x = input.to(dtype).contiguous(),
               places = grid.to(dtype).contiguous();
  const Tensor grad_input = mask[0] ? taeda::zeros(input.sizes(), dtype) : Tensor();
  const Tensor grad_grid = mask[1] ? taeda::zeros(grid.sizes(), dtype) : Tensor();
  if (g.numel() > 0)
    (dtype == DType::Double ? &sample_backward<double>
                            : &sample_backward<float>)(g, x, places, rule, grad_input, grad_grid);
  return {mask[0] ? grad_input.to(input.dtype()) : Tensor(),
          mask[1] ? grad_grid.to(grid.dtype()) : Tensor()};
}

}  // namespace

void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                     int64_t padding_mode, bool align_corners, Tensor& out) {
  sample_grid(input, grid, {interpolation_mode, padding_mode, align_corners}, out);
}
void grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                     int64_t padding_mode, bool align_corners, Tensor& out) {
  sample_grid(input, grid, {interpolation_mode, padding_mode, align_corners}, out);
}
std::tuple<Tensor, Tensor> grid_sampler_2d_backward(const Tensor& grad_output, const Tensor& input,
                                                    const Tensor& grid, int64_t interpolation_mode,
                                                    int64_t padding_mode, bool align_corners,
                                                    Span<bool> output_mask) {
  impl::grid_sampler_2d_backward_meta(grad_output, input, grid, interpolation_mode, padding_mode,
                                      align_corners, output_mask);
  return grid_gradients(grad_output, input, grid, {interpolation_mode, padding_mode, align_corners},
                        output_mask);
}
std::tuple<Tensor, Tensor> grid_sampler_3d_backward(const Tensor& grad_output, const Tensor& input,
                                                    const Tensor& grid, int64_t interpolation_mode,
                                                    int64_t padding_mode, bool align_corners,
                                                    Span<bool> output_mask) {
  impl::grid_sampler_3d_backward_meta(grad_output, input, grid, interpolation_mode, padding_mode,
                                      align_corners, output_mask);
  return grid_gradients(grad_output, input, grid, {interpolation_mode, padding_mode, align_corners},
                        output_mask);
}

}  // namespace taeda::cpu
