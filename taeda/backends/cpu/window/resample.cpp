// Weighted sums of neighbours on the CPU.
//
// A row of results adds the rows around it by their weights, in vectors, then along the row the
// columns around each result. The gradient goes the same way back.
#include "taeda/backends/cpu/window/resample.h"

#include <algorithm>
#include <cmath>

#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/window/resample_axis.h"
#include "taeda/backends/cpu/window/resample_bytes.h"
#include "taeda/backends/cpu/window/volume.h"
#include "taeda/backends/cpu/window/window_rows.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

using Scales = std::vector<std::optional<double>>;

template <class T>
class Resampler {
 public:
  // From sizes `in` to sizes `out`.
  Resampler(Filter filter, const Volume& in, const Volume& out, bool align_corners,
            const Scales& scales)
      : in_(in), out_(out), rows_(window_rows<T>()) {
    const size_t spatial = scales.size();
    for (size_t d = 0; d < 3; ++d) {
      const bool is_given = d + spatial >= 3;
      axes_[d] = is_given ? resample_axis<T>(filter, in.size[d], out.size[d], align_corners,
                                             scales[d + spatial - 3])
                          : ResampleAxis<T>{{{0, 1, 0}}, {T(1)}};
    }
    if (in.inner == 1) near_ = NearResults<T>(axes_[2], rows_.width);
  }

  void forward(const RunReader<T>& read, const RunWriter<T>& write, bool is_rounded, int64_t first,
               int64_t last) const {
    // Vectors along the row are read whole.
    std::vector<T> sum(in_.width() + rows_.width), buffer(in_.width()), made(out_.width());
    for (int64_t r = first; r < last; ++r) {
      const int64_t plane = r / (out_.size[0] * out_.size[1]);
      bool is_first = true;
      for_rows(r, [&](int64_t row, T weight) {
        const T* const p = read.get(plane * in_.plane() + row, in_.width(), buffer.data());
        (is_first ? rows_.scale : rows_.add_scaled)(sum.data(), p, weight, in_.width());
        is_first = false;
      });
      T* const to = write.at(r * out_.width(), made.data());
      across(sum.data(), to);
      if (is_rounded)
        for (int64_t i = 0; i < out_.width(); ++i)
          to[i] = std::clamp(std::floor(to[i] + T(0.5)), T(0), T(255));
      write.put(r * out_.width(), out_.width(), to);
    }
  }

  // Adds the gradient of plane `p` to `to`, which has zeros.
  void backward(const RunReader<T>& read, int64_t p, T* to) const {
    std::vector<T> spread(in_.width()), buffer(out_.width());
    const int64_t per_plane = out_.size[0] * out_.size[1];
    for (int64_t r = p * per_plane; r < (p + 1) * per_plane; ++r) {
      const T* const grad = read.get(r * out_.width(), out_.width(), buffer.data());
      std::fill(spread.begin(), spread.end(), T(0));
      along(grad, spread.data());
      for_rows(r, [&](int64_t row, T weight) {
        rows_.add_scaled(to + row, spread.data(), weight, in_.width());
      });
    }
  }

 private:
  // The starts of the rows around row `r` of the results in their plane, and their weights.
  template <class Each>
  void for_rows(int64_t r, Each&& each) const {
    const auto& td = axes_[0].taps[r / out_.size[1] % out_.size[0]];
    const auto& th = axes_[1].taps[r % out_.size[1]];
    for (int64_t d = 0; d < td.count; ++d)
      for (int64_t h = 0; h < th.count; ++h)
        each(((td.first + d) * in_.size[1] + th.first + h) * in_.width(),
             axes_[0].weights[td.weights + d] * axes_[1].weights[th.weights + h]);
  }

  void across(const T* sum, T* to) const {
    const int64_t n = in_.inner;
    if (n == 1) {
      across_some(sum, to, 0, near_.first());
      rows_.near_sums(to + near_.first(), sum, near_.sums());
      return across_some(sum, to, near_.last(), out_.size[2]);
    }
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const auto& t = axes_[2].taps[o];
      const T* const weights = axes_[2].weights.data() + t.weights;
      rows_.scale(to + o * n, sum + t.first * n, weights[0], n);
      for (int64_t k = 1; k < t.count; ++k)
        rows_.add_scaled(to + o * n, sum + (t.first + k) * n, weights[k], n);
    }
  }

  // Results [first, last) of rows with one element at each place.
  void across_some(const T* sum, T* to, int64_t first, int64_t last) const {
    for (int64_t o = first; o < last; ++o) {
      const auto& t = axes_[2].taps[o];
      const T* const weights = axes_[2].weights.data() + t.weights;
      T total = 0;
      for (int64_t k = 0; k < t.count; ++k) total += weights[k] * sum[t.first + k];
      to[o] = total;
    }
  }

  void along(const T* grad, T* spread) const {
    const int64_t n = in_.inner;
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const auto& t = axes_[2].taps[o];
      const T* const weights = axes_[2].weights.data() + t.weights;
      for (int64_t k = 0; k < t.count; ++k) {
        T* const to = spread + (t.first + k) * n;
        if (n == 1)
          *to += weights[k] * grad[o];
        else
          rows_.add_scaled(to, grad + o * n, weights[k], n);
      }
    }
  }

  Volume in_, out_;
  ResampleAxis<T> axes_[3];
  NearResults<T> near_;  // along rows with one element at each place
  const WindowRows<T>& rows_;
};

template <class T>
void weighted(Filter filter, const Tensor& x, bool align_corners, const Scales& scales,
              const Volume& in, const Tensor& made, const Volume& out) {
  const Resampler<T> sampler(filter, in, out, align_corners, scales);
  const RunReader<T> read(x);
  const RunWriter<T> write(made);
  const bool is_rounded = made.dtype() == DType::Byte;
  parallel_for(
      0, out.rows(), row_grain(2 * (in.width() + out.width())),
      [&](int64_t first, int64_t last) { sampler.forward(read, write, is_rounded, first, last); });
}

template <class T>
void weighted_backward(Filter filter, const Tensor& grad, bool align_corners, const Scales& scales,
                       const Volume& in, const Tensor& made, const Volume& out) {
  const Resampler<T> sampler(filter, in, out, align_corners, scales);
  const RunReader<T> read(grad);
  const RunWriter<T> write(made);
  parallel_for(0, in.planes, row_grain(in.plane()), [&](int64_t first, int64_t last) {
    std::vector<T> buffer(write.is_plain() ? 0 : in.plane());
    for (int64_t p = first; p < last; ++p) {
      T* const plane = write.at(p * in.plane(), buffer.data());
      std::fill(plane, plane + in.plane(), T(0));
      sampler.backward(read, p, plane);
      write.put(p * in.plane(), in.plane(), plane);
    }
  });
}

bool is_nearest(Filter filter) { return filter <= Filter::NearestExact; }

// Where PyTorch takes the places of an image: several channels behind each other in memory, or a
// small plane.
bool is_image(const Tensor& in, const Tensor& out, size_t spatial, MemoryFormat format) {
  if (spatial == 1) return false;
  if (format != MemoryFormat::Contiguous && in.size(1) > 3) return true;
  return spatial == 2 && out.size(2) + out.size(3) <= 128;
}

void read_nearest(Filter filter, const Tensor& in, const Tensor& out, const Scales& scales,
                  MemoryFormat format, AxisMap (&axes)[3]) {
  const size_t spatial = scales.size();
  auto axis = in.dtype() == DType::Double ? &nearest_axis<double> : &nearest_axis<float>;
  if (is_image(in, out, spatial, format)) axis = &nearest_image_axis;
  for (AxisMap& map : axes) map = AxisMap::identity(1);
  for (size_t d = 0; d < spatial; ++d)
    axes[3 - spatial + d] = axis(filter, in.size(d + 2), out.size(d + 2), scales[d]);
}

}  // namespace

void resample(Filter filter, const Tensor& self, bool align_corners, const Scales& scales,
              Tensor& out) {
  if (out.numel() == 0) return;
  const auto spatial = static_cast<int64_t>(scales.size());
  const MemoryFormat format = self.suggested_format();
  if (is_nearest(filter)) {
    AxisMap axes[3];
    read_nearest(filter, self, out, scales, format, axes);
    return move_volume(self, axes, spatial, format, out);
  }
  const Tensor x = self.contiguous(format);
  DenseResult made(out, format);
  const Volume from(x, spatial, format), to(out, spatial, format);
  if (x.dtype() == DType::Byte && spatial == 2) {
    resample_bytes(filter, static_cast<const uint8_t*>(x.data()), from, align_corners, scales,
                   static_cast<uint8_t*>(made.tensor().data()), to);
  } else {
    const auto run = x.dtype() == DType::Double ? &weighted<double> : &weighted<float>;
    run(filter, x, align_corners, scales, from, made.tensor(), to);
  }
  made.finish();
}

void resample_backward(Filter filter, const Tensor& grad, bool align_corners, const Scales& scales,
                       Tensor& out) {
  if (out.numel() == 0) return;
  const auto spatial = static_cast<int64_t>(scales.size());
  const MemoryFormat format = grad.suggested_format();
  if (is_nearest(filter)) {
    AxisMap axes[3];
    read_nearest(filter, out, grad, scales, format, axes);
    return add_by_maps(grad, axes, spatial, format, out);
  }
  const Tensor g = grad.contiguous(format);
  DenseResult made(out, format);
  const Volume in(out, spatial, format), to(g, spatial, format);
  const auto run =
      g.dtype() == DType::Double ? &weighted_backward<double> : &weighted_backward<float>;
  run(filter, g, align_corners, scales, in, made.tensor(), to);
  made.finish();
}

}  // namespace taeda::cpu
