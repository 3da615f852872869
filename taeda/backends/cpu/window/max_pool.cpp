// The greatest elements of windows on the CPU, and their gradients.
//
// A row of results first takes the greatest element of each column of its window's rows, in
// vectors, then the greatest of the columns of each window. Channels that lie innermost are vectors
// already: those compare the elements of their windows one by one.
#include <algorithm>
#include <cstring>
#include <limits>

#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/pooling_declarations.h"
#include "taeda/backends/cpu/window/volume.h"
#include "taeda/backends/cpu/window/window_axis.h"
#include "taeda/backends/cpu/window/window_rows.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/plane_format.h"
#include "taeda/ops/pooling/windows.h"

namespace taeda::cpu {
namespace {

using Window = WindowAxis::Window;

// What a window without elements gives.
template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();

// Of equal elements the first counts, of several that are no numbers the last, as if the window
// was read in order.
template <class T>
bool comes_first(T value, int64_t place, T best, int64_t best_place) {
  return value > best || (value == best && place < best_place) ||
         (value != value && (best == best || place > best_place));
}

template <class T>
class MaxWindows {
 public:
  MaxWindows(const Tensor& x, const Volume& in, const Tensor& values, const Volume& out,
             const Tensor& indices)
      : read_(x),
        write_(values),
        places_(indices.data<int64_t>()),
        in_(in),
        out_(out),
        rows_(window_rows<T>()) {}

  // Results of the rows from `first` to before `last`.
  void run(const WindowAxis (&axes)[3], int64_t first, int64_t last) const {
    Scratch s(in_, out_);
    const bool has_empty = std::any_of(axes, axes + 3, [](const WindowAxis& axis) {
      return std::any_of(axis.windows.begin(), axis.windows.end(),
                         [](const Window& w) { return w.taps == 0; });
    });
    for (int64_t r = first; r < last; ++r) {
      T* const to = write_.at(r * out_.width(), s.made.data());
      int64_t* const places = places_ + r * out_.width();
      list_rows(axes, r, s);
      if (in_.inner == 1) {
        const auto count = static_cast<int64_t>(s.rows.size());
        if (count > 0)
          rows_.greatest(s.best.data(), s.at.data(), s.rows.data(), s.starts.data(), count,
                         in_.size[2]);
        across(axes[2], count == 0, s.best.data(), s.at.data(), to, places);
      } else {
        channels(axes[2], s, to, places);
      }
      if (has_empty) mark_empty(axes, r, places);
      write_.put(r * out_.width(), out_.width(), to);
    }
  }

 private:
  struct Scratch {
    std::vector<T> best, made, buffers;
    std::vector<Place<T>> at;
    std::vector<const T*> rows, taps;  // of a window
    std::vector<Place<T>> starts, places;
    Scratch(const Volume& in, const Volume& out)
        : best(in.width()), made(out.width()), at(std::max(in.width(), out.width())) {}
  };

  // The rows of the window behind row `r` of the results, and the places where they start.
  void list_rows(const WindowAxis (&axes)[3], int64_t r, Scratch& s) const {
    const Window& wh = axes[1].windows[r % out_.size[1]];
    const Window& wd = axes[0].windows[r / out_.size[1] % out_.size[0]];
    const int64_t plane = r / (out_.size[1] * out_.size[0]), count = wd.taps * wh.taps;
    s.rows.resize(count);
    s.starts.resize(count);
    if (!read_.is_plain()) s.buffers.resize(count * in_.width());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t d = wd.first + i / wh.taps * axes[0].step;
      const int64_t h = wh.first + i % wh.taps * axes[1].step;
      const int64_t row = d * in_.size[1] + h;
      s.rows[i] = read_.get(plane * in_.plane() + row * in_.width(), in_.width(),
                            s.buffers.data() + (read_.is_plain() ? 0 : i * in_.width()));
      s.starts[i] = static_cast<Place<T>>(row * in_.size[2]);
    }
  }

  // A window without elements has the place that its first one would have, if that is behind the
  // plane, and the end of the plane else: no gradient goes there.
  void mark_empty(const WindowAxis (&axes)[3], int64_t r, int64_t* places) const {
    const Window& wh = axes[1].windows[r % out_.size[1]];
    const Window& wd = axes[0].windows[r / out_.size[1] % out_.size[0]];
    const int64_t row = wd.first * in_.size[1] + wh.first, n = in_.inner;
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const Window& w = axes[2].windows[o];
      if (wd.taps * wh.taps * w.taps > 0) continue;
      const int64_t place = std::max(row * in_.size[2] + w.first, in_.plane() / n);
      std::fill(places + o * n, places + (o + 1) * n, place);
    }
  }

  void across(const WindowAxis& axis, bool is_empty, const T* best, const Place<T>* at, T* to,
              int64_t* places) const {
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const Window& w = axis.windows[o];
      if (is_empty || w.taps == 0) {
        to[o] = kLowest<T>;
        continue;
      }
      T value = best[w.first];
      int64_t place = at[w.first] + w.first;
      for (int64_t k = 1; k < w.taps; ++k) {
        const int64_t i = w.first + k * axis.step;
        const int64_t here = at[i] + i;
        const bool is_taken = comes_first(best[i], here, value, place);
        value = is_taken ? best[i] : value;
        place = is_taken ? here : place;
      }
      to[o] = value;
      places[o] = place;
    }
  }

  void channels(const WindowAxis& axis, Scratch& s, T* to, int64_t* places) const {
    const int64_t n = in_.inner;
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const Window& w = axis.windows[o];
      s.taps.clear();
      s.places.clear();
      for (size_t i = 0; i < s.rows.size(); ++i)
        for (int64_t k = 0; k < w.taps; ++k) {
          const int64_t x = w.first + k * axis.step;
          s.taps.push_back(s.rows[i] + x * n);
          s.places.push_back(s.starts[i] + static_cast<Place<T>>(x));
        }
      if (s.taps.empty()) {
        std::fill(to + o * n, to + (o + 1) * n, kLowest<T>);
        continue;
      }
      rows_.greatest(to + o * n, s.at.data(), s.taps.data(), s.places.data(),
                     static_cast<int64_t>(s.taps.size()), n);
      std::copy(s.at.data(), s.at.data() + n, places + o * n);
    }
  }

  RunReader<T> read_;
  RunWriter<T> write_;
  int64_t* places_;
  Volume in_, out_;
  const WindowRows<T>& rows_;
};

// Calls run(T()) with the type to compute in; places must fit beside it.
template <class Run>
void in_compute_type(DType dtype, const Volume& in, Run&& run) {
  const bool is_long = in.plane() / std::max<int64_t>(in.inner, 1) > INT32_MAX;
  switch (compute_type(dtype)) {
    case ComputeType::F32: return is_long ? run(double()) : run(float());
    case ComputeType::F64: return run(double());
    default: return run(int64_t());
  }
}

void max_pool(const Tensor& self, int64_t spatial, const WindowAxis (&axes)[3], Tensor& values,
              Tensor& indices) {
  if (values.numel() == 0) return;
  const MemoryFormat format = plane_format(self, spatial);
  const Tensor x = self.contiguous(format);
  DenseResult made(values, format), places(indices, format);
  const Volume in(x, spatial, format), out(values, spatial, format);
  const int64_t window = axes[0].windows[0].taps * axes[1].windows[0].taps;
  in_compute_type(x.dtype(), in, [&]<class T>(T) {
    const MaxWindows<T> windows(x, in, made.tensor(), out, places.tensor());
    parallel_for(0, out.rows(), row_grain(in.width() * std::max<int64_t>(window, 1)),
                 [&](int64_t first, int64_t last) { windows.run(axes, first, last); });
  });
  made.finish();
  places.finish();
}

// Windows over the last dimensions of `self`; missing ones are of one element.
void regular_max_pool(const Tensor& self, const PoolWindow& w, Tensor& values, Tensor& indices) {
  const int64_t spatial = static_cast<int64_t>(w.kernel.size());
  WindowAxis axes[3] = {listed_axis({0}, 1), listed_axis({0}, 1), listed_axis({0}, 1)};
  for (int64_t d = 0; d < spatial; ++d)
    axes[3 - spatial + d] =
        regular_axis(self.size(self.dim() - spatial + d), values.size(values.dim() - spatial + d),
                     w.kernel[d], w.stride[d], w.padding[d], w.dilation[d], false);
  max_pool(self, spatial, axes, values, indices);
}

void adaptive_max_pool(const Tensor& self, IntList output_size, Tensor& values, Tensor& indices) {
  const int64_t spatial = static_cast<int64_t>(output_size.size());
  WindowAxis axes[3] = {listed_axis({0}, 1), listed_axis({0}, 1), listed_axis({0}, 1)};
  for (int64_t d = 0; d < spatial; ++d)
    axes[3 - spatial + d] = adaptive_axis(self.size(self.dim() - spatial + d), output_size[d]);
  max_pool(self, spatial, axes, values, indices);
}

// First elements of windows at distances that vary with a random number, in the sample's type.
template <class T>
WindowAxis fractional_axis(T sample, int64_t in, int64_t out, int64_t kernel) {
  std::vector<int64_t> firsts(out);
  const T alpha = out > 1 ? static_cast<T>(in - kernel) / static_cast<T>(out - 1) : T(0);
  for (int64_t o = 0; o + 1 < out; ++o)
    firsts[o] = static_cast<int64_t>((static_cast<T>(o) + sample) * alpha) -
                static_cast<int64_t>(sample * alpha);
  if (out > 0) firsts[out - 1] = in - kernel;
  return listed_axis(firsts, kernel);
}

void fractional_max_pool(const Tensor& self, IntList kernel, const Tensor& samples, Tensor& values,
                         Tensor& indices) {
  if (values.numel() == 0) return;
  const int64_t spatial = static_cast<int64_t>(kernel.size());
  const MemoryFormat format = MemoryFormat::Contiguous;
  const Tensor x = self.contiguous(), numbers = samples.contiguous();
  DenseResult made(values, format), places(indices, format);
  const Volume in(x, spatial, format), out(values, spatial, format);
  const int64_t per_plane = out.size[0] * out.size[1];
  in_compute_type(x.dtype(), in, [&]<class T>(T) {
    const MaxWindows<T> windows(x, in, made.tensor(), out, places.tensor());
    const RunReader<T> read(numbers);
    parallel_for(0, in.planes, row_grain(in.plane()), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        T buffer[3];
        const T* const sample = read.get(p * spatial, spatial, buffer);
        WindowAxis axes[3] = {listed_axis({0}, 1), listed_axis({0}, 1), listed_axis({0}, 1)};
        // In two dimensions the first number is the width's.
        for (int64_t d = 0; d < spatial; ++d)
          axes[3 - spatial + d] =
              fractional_axis(sample[spatial == 2 ? 1 - d : d], in.size[3 - spatial + d],
                              out.size[3 - spatial + d], kernel[d]);
        windows.run(axes, p * per_plane, (p + 1) * per_plane);
      }
    });
  });
  made.finish();
  places.finish();
}

}  // namespace

void max_pool2d_with_indices(const Tensor& self, IntList kernel_size, IntList stride,
                             IntList padding, IntList dilation, bool, Tensor& out,
                             Tensor& indices) {
  regular_max_pool(self, pool_window("max_pool2d", 2, kernel_size, stride, padding, dilation), out,
                   indices);
}
void max_pool3d_with_indices(const Tensor& self, IntList kernel_size, IntList stride,
                             IntList padding, IntList dilation, bool, Tensor& out,
                             Tensor& indices) {
  regular_max_pool(self, pool_window("max_pool3d", 3, kernel_size, stride, padding, dilation), out,
                   indices);
}
void adaptive_max_pool2d(const Tensor& self, IntList output_size, Tensor& out, Tensor& indices) {
  adaptive_max_pool(self, output_size, out, indices);
}
void adaptive_max_pool3d(const Tensor& self, IntList output_size, Tensor& out, Tensor& indices) {
  adaptive_max_pool(self, output_size, out, indices);
}
void fractional_max_pool2d(const Tensor& self, IntList kernel_size, IntList,
                           const Tensor& random_samples, Tensor& output, Tensor& indices) {
  fractional_max_pool(self, kernel_size, random_samples, output, indices);
}
void fractional_max_pool3d(const Tensor& self, IntList kernel_size, IntList,
                           const Tensor& random_samples, Tensor& output, Tensor& indices) {
  fractional_max_pool(self, kernel_size, random_samples, output, indices);
}

}  // namespace taeda::cpu
