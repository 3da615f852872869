// Means of windows on the CPU, and their gradients.
//
// A row of results adds the rows of its window in vectors, then the columns of each window. The
// gradient goes the same way back: along a row first, then to all rows of the window.
#include <algorithm>
#include <cstring>

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

struct Means {
  WindowAxis axes[3] = {listed_axis({0}, 1), listed_axis({0}, 1), listed_axis({0}, 1)};
  std::optional<int64_t> divisor;  // of every window, where one is given

  int64_t divided_by(const Window& d, const Window& h, const Window& w) const {
    return divisor ? *divisor : d.counted * h.counted * w.counted;
  }
};

template <class T>
class MeanWindows {
 public:
  MeanWindows(const Means& means, const Volume& in, const Volume& out)
      : means_(means), in_(in), out_(out), rows_(window_rows<T>()) {}

  // Results of the rows from `first` to before `last`.
  void forward(const RunReader<T>& read, const RunWriter<T>& write, int64_t first,
               int64_t last) const {
    std::vector<T> sum(in_.width()), made(out_.width()), buffers;
    std::vector<const T*> rows;
    for (int64_t r = first; r < last; ++r) {
      const auto [plane, wd, wh] = place_of(r);
      if (!read.is_plain()) buffers.resize(wd.taps * wh.taps * in_.width());
      rows.clear();
      for_rows(wd, wh, [&](int64_t row) {
        const auto used = static_cast<int64_t>(read.is_plain() ? 0 : rows.size() * in_.width());
        rows.push_back(read.get(plane * in_.plane() + row, in_.width(), buffers.data() + used));
      });
      rows_.mean(sum.data(), rows.data(), static_cast<int64_t>(rows.size()), T(1), in_.width());
      T* const to = write.at(r * out_.width(), made.data());
      across(wd, wh, sum.data(), rows, to);
      write.put(r * out_.width(), out_.width(), to);
    }
  }

  // Adds the gradient of plane `p` to `to`, which has zeros.
  void backward(const RunReader<T>& read, int64_t p, T* to) const {
    std::vector<T> spread(in_.width()), buffer(out_.width()), shares(in_.inner);
    const int64_t per_plane = out_.size[0] * out_.size[1];
    for (int64_t r = p * per_plane; r < (p + 1) * per_plane; ++r) {
      const auto [plane, wd, wh] = place_of(r);
      const T* const grad = read.get(r * out_.width(), out_.width(), buffer.data());
      std::fill(spread.begin(), spread.end(), T(0));
      along(wd, wh, grad, shares.data(), spread.data());
      for_rows(wd, wh, [&](int64_t row) { rows_.add(to + row, spread.data(), in_.width()); });
    }
  }

 private:
  struct RowPlace {
    int64_t plane;
    const Window &d, &h;
  };
  RowPlace place_of(int64_t r) const {
    const int64_t h = r % out_.size[1], d = r / out_.size[1] % out_.size[0];
    return {r / (out_.size[1] * out_.size[0]), means_.axes[0].windows[d],
            means_.axes[1].windows[h]};
  }

  // The starts of a window's rows in their plane.
  template <class Each>
  void for_rows(const Window& wd, const Window& wh, Each&& each) const {
    for (int64_t i = 0; i < wd.taps * wh.taps; ++i) {
      const int64_t d = wd.first + i / wh.taps * means_.axes[0].step;
      const int64_t h = wh.first + i % wh.taps * means_.axes[1].step;
      each((d * in_.size[1] + h) * in_.width());
    }
  }

  // `taps` is scratch memory.
  void across(const Window& wd, const Window& wh, const T* sum, std::vector<const T*>& taps,
              T* to) const {
    const int64_t n = in_.inner;
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const Window& w = means_.axes[2].windows[o];
      const T divisor = static_cast<T>(means_.divided_by(wd, wh, w));
      if (n == 1) {
        T total = 0;
        for (int64_t k = 0; k < w.taps; ++k) total += sum[w.first + k];
        to[o] = divided(total, divisor);
        continue;
      }
      taps.clear();
      for (int64_t k = 0; k < w.taps; ++k) taps.push_back(sum + (w.first + k) * n);
      rows_.mean(to + o * n, taps.data(), w.taps, divisor, n);
    }
  }

  void along(const Window& wd, const Window& wh, const T* grad, T* shares, T* spread) const {
    const int64_t n = in_.inner;
    for (int64_t o = 0; o < out_.size[2]; ++o) {
      const Window& w = means_.axes[2].windows[o];
      const T divisor = static_cast<T>(means_.divided_by(wd, wh, w));
      if (n == 1) {
        const T share = divided(grad[o], divisor);
        for (int64_t k = 0; k < w.taps; ++k) spread[w.first + k] += share;
        continue;
      }
      const T* const group = grad + o * n;
      rows_.mean(shares, &group, 1, divisor, n);
      for (int64_t k = 0; k < w.taps; ++k) rows_.add(spread + (w.first + k) * n, shares, n);
    }
  }

  // A window in the padding alone has nothing to divide.
  static T divided(T total, T divisor) { return divisor == T(0) ? T(0) : total / divisor; }

  const Means& means_;
  Volume in_, out_;
  const WindowRows<T>& rows_;
};

template <class Run>
void in_mean_type(DType dtype, Run&& run) {
  switch (compute_type(dtype)) {
    case ComputeType::F32: return run(float());
    case ComputeType::F64: return run(double());
    default: return run(int64_t());
  }
}

void mean_pool(const Tensor& self, int64_t spatial, const Means& means, Tensor& result) {
  if (result.numel() == 0) return;
  const MemoryFormat format = plane_format(self, spatial);
  const Tensor x = self.contiguous(format);
  DenseResult made(result, format);
  const Volume in(x, spatial, format), out(result, spatial, format);
  const int64_t rows = means.axes[0].windows[0].taps * means.axes[1].windows[0].taps;
  in_mean_type(x.dtype(), [&]<class T>(T) {
    const MeanWindows<T> windows(means, in, out);
    const RunReader<T> read(x);
    const RunWriter<T> write(made.tensor());
    parallel_for(0, out.rows(), row_grain(in.width() * std::max<int64_t>(rows, 1)),
                 [&](int64_t first, int64_t last) { windows.forward(read, write, first, last); });
  });
  made.finish();
}

void mean_pool_backward(const Tensor& grad, const Tensor& self, int64_t spatial, const Means& means,
                        Tensor& result) {
  if (result.numel() == 0) return;
  const MemoryFormat format = plane_format(self, spatial);
  const Tensor g = grad.contiguous(format);
  DenseResult made(result, format);
  const Volume in(result, spatial, format), out(g, spatial, format);
  in_mean_type(g.dtype(), [&]<class T>(T) {
    const MeanWindows<T> windows(means, in, out);
    const RunReader<T> read(g);
    const RunWriter<T> write(made.tensor());
    parallel_for(0, in.planes, row_grain(in.plane()), [&](int64_t first, int64_t last) {
      std::vector<T> buffer(write.is_plain() ? 0 : in.plane());
      for (int64_t p = first; p < last; ++p) {
        T* const plane = write.at(p * in.plane(), buffer.data());
        std::fill(plane, plane + in.plane(), T(0));
        windows.backward(read, p, plane);
        write.put(p * in.plane(), in.plane(), plane);
      }
    });
  });
  made.finish();
}

Means regular_means(const PoolWindow& w, const Tensor& input, const Tensor& result,
                    bool counts_padding, std::optional<int64_t> divisor) {
  const int64_t spatial = static_cast<int64_t>(w.kernel.size());
  Means means;
  for (int64_t d = 0; d < spatial; ++d)
    means.axes[3 - spatial + d] =
        regular_axis(input.size(input.dim() - spatial + d), result.size(result.dim() - spatial + d),
                     w.kernel[d], w.stride[d], w.padding[d], 1, counts_padding);
  means.divisor = divisor;
  return means;
}

Means adaptive_means(int64_t spatial, const Tensor& input, const Tensor& result) {
  Means means;
  for (int64_t d = 0; d < spatial; ++d)
    means.axes[3 - spatial + d] = adaptive_axis(input.size(input.dim() - spatial + d),
                                                result.size(result.dim() - spatial + d));
  return means;
}

}  // namespace

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  const PoolWindow w = pool_window("avg_pool2d", 2, kernel_size, stride, padding);
  mean_pool(self, 2, regular_means(w, self, out, count_include_pad, divisor_override), out);
}
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  const PoolWindow w = pool_window("avg_pool3d", 3, kernel_size, stride, padding);
  mean_pool(self, 3, regular_means(w, self, out, count_include_pad, divisor_override), out);
}
void avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                         IntList stride, IntList padding, bool, bool count_include_pad,
                         std::optional<int64_t> divisor_override, Tensor& grad_input) {
  const PoolWindow w = pool_window("avg_pool2d", 2, kernel_size, stride, padding);
  mean_pool_backward(grad_output, self, 2,
                     regular_means(w, self, grad_output, count_include_pad, divisor_override),
                     grad_input);
}
void avg_pool3d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                         IntList stride, IntList padding, bool, bool count_include_pad,
                         std::optional<int64_t> divisor_override, Tensor& grad_input) {
  const PoolWindow w = pool_window("avg_pool3d", 3, kernel_size, stride, padding);
  mean_pool_backward(grad_output, self, 3,
                     regular_means(w, self, grad_output, count_include_pad, divisor_override),
                     grad_input);
}

void _adaptive_avg_pool2d(const Tensor& self, SymIntList, Tensor& out) {
  mean_pool(self, 2, adaptive_means(2, self, out), out);
}
void _adaptive_avg_pool3d(const Tensor& self, SymIntList, Tensor& out) {
  mean_pool(self, 3, adaptive_means(3, self, out), out);
}
void _adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  mean_pool_backward(grad_output, self, 2, adaptive_means(2, self, grad_output), out);
}
void _adaptive_avg_pool3d_backward(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  mean_pool_backward(grad_output, self, 3, adaptive_means(3, self, grad_output), out);
}

}  // namespace taeda::cpu
