// Depthwise convolutions: rows of planes, or channels of places, weighted tap by tap.
#include "taeda/backends/cpu/convolution/depthwise.h"

#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/convolution/patches.h"
#include "taeda/backends/cpu/convolution/row_kernels.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::convolution_kernels {
namespace {

// Multiply-adds worth a task of their own.
constexpr int64_t kTaskWork = 32768;

int64_t grain_for(int64_t work) {
  return std::max<int64_t>(kTaskWork / std::max<int64_t>(work, 1), 1);
}

// Where a point looks in one dimension; false outside the image.
bool look(const Window& w, int d, int64_t point, const Tap& tap, int64_t size, int64_t& at) {
  at = point * w.step[d] + tap.offset;
  return at >= 0 && at < size;
}

// The points of a row at which every tap reads inside the image: [first, last).
struct Interior {
  int64_t first = 0, last;

  Interior(const Window& w, int64_t size) : last(w.grid[2]) {
    const int64_t step = w.step[2];
    for (const Tap& tap : w.taps[2]) {
      first = std::max(first, tap.offset >= 0 ? 0 : (-tap.offset + step - 1) / step);
      last = std::min(last, tap.offset >= size ? 0 : (size - 1 - tap.offset) / step + 1);
    }
    first = std::min(first, w.grid[2]);
    last = std::max(first, last);
  }
};

// Sums over the taps of a window for every place: from `from`, in images of `size`, to `to`.
template <class P>
struct Gather {
  const Geometry& g;
  const P* from;
  Layout from_layout;
  Extents size;
  P* to;
  Layout to_layout;
  Extents first, step;  // where the points of the window are written
  const P* weight;
  WeightLayout weight_layout;
  const P* bias;
  Window window;

  int64_t tap_offset(const Tap& a, const Tap& b, const Tap& c) const {
    return a.kernel * weight_layout.tap[0] + b.kernel * weight_layout.tap[1] +
           c.kernel * weight_layout.tap[2];
  }
  int64_t target(int64_t d, int64_t h, int64_t w) const {
    return (first[0] + d * step[0]) * to_layout.place[0] +
           (first[1] + h * step[1]) * to_layout.place[1] +
           (first[2] + w * step[2]) * to_layout.place[2];
  }
  // f(row of the image, first tap, second tap) for each row that a row of points reads.
  template <class F>
  void for_rows(const P* image, int64_t d, int64_t h, F&& f) const {
    int64_t z, y;
    for (const Tap& a : window.taps[0]) {
      if (!look(window, 0, d, a, size[0], z)) continue;
      for (const Tap& b : window.taps[1])
        if (look(window, 1, h, b, size[1], y))
          f(image + z * from_layout.place[0] + y * from_layout.place[1], a, b);
    }
  }
  void run() const { g.is_channels_last ? run_channels() : run_planes(); }

 private:
  void run_planes() const {
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const Interior inside(window, size[2]);
    const int64_t width = window.grid[2], planes = g.images * g.groups;
    const int64_t work = window.places() * std::max<int64_t>(window.num_taps(), 1);
    parallel_for(0, planes, grain_for(work), [&](int64_t begin, int64_t end) {
      std::vector<RowTap<P>> taps, valid;
      std::vector<P> line(width);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t n = plane / g.groups, c = plane % g.groups;
        const P* image = from + n * from_layout.image + c * from_layout.channel;
        P* out = to + n * to_layout.image + c * to_layout.channel;
        const P start = bias ? bias[c] : P(0);
        for (int64_t d = 0; d < window.grid[0]; ++d)
          for (int64_t h = 0; h < window.grid[1]; ++h) {
            taps.clear();
            for_rows(image, d, h, [&](const P* row, const Tap& a, const Tap& b) {
              for (const Tap& tap : window.taps[2])
                taps.push_back(
                    {row + tap.offset, weight[c * weight_layout.out + tap_offset(a, b, tap)]});
            });
            P* at = out + target(d, h, 0);
            const bool is_dense = step[2] == 1;
            P* result = is_dense ? at : line.data();
            const auto edge = [&](int64_t i) {
              valid.clear();
              for (size_t t = 0; t < taps.size(); ++t) {
                const int64_t w =
                    i * window.step[2] + window.taps[2][t % window.taps[2].size()].offset;
                if (w >= 0 && w < size[2])
                  valid.push_back({taps[t].row + i * window.step[2], taps[t].weight});
              }
              kernels.weigh_rows(1, 1, static_cast<int64_t>(valid.size()), valid.data(), start,
                                 result + i);
            };
            for (int64_t i = 0; i < inside.first; ++i) edge(i);
            if (inside.last > inside.first) {
              for (RowTap<P>& tap : taps) tap.row += inside.first * window.step[2];
              kernels.weigh_rows(inside.last - inside.first, window.step[2],
                                 static_cast<int64_t>(taps.size()), taps.data(), start,
                                 result + inside.first);
              for (RowTap<P>& tap : taps) tap.row -= inside.first * window.step[2];
            }
            for (int64_t i = inside.last; i < width; ++i) edge(i);
            if (!is_dense)
              for (int64_t i = 0; i < width; ++i) at[i * step[2] * to_layout.place[2]] = line[i];
          }
      }
    });
  }

  void run_channels() const {
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const int64_t channels = g.groups, taps = window.num_taps();
    // Taps outermost, as the sums take them.
    std::vector<P> weights(taps * channels);
    for (int64_t t = 0; t < taps; ++t) {
      const auto tap = window.tap(t);
      for (int64_t c = 0; c < channels; ++c)
        weights[t * channels + c] =
            weight[c * weight_layout.out + tap_offset(tap[0], tap[1], tap[2])];
    }
    const int64_t lines = g.images * window.grid[0] * window.grid[1];
    const int64_t work = window.grid[2] * channels * std::max<int64_t>(taps, 1);
    parallel_for(0, lines, grain_for(work), [&](int64_t begin, int64_t end) {
      std::vector<const P*> rows(taps);
      for (int64_t line = begin; line < end; ++line) {
        const int64_t h = line % window.grid[1], d = line / window.grid[1] % window.grid[0];
        const int64_t n = line / (window.grid[1] * window.grid[0]);
        const P* image = from + n * from_layout.image;
        P* out = to + n * to_layout.image;
        for (int64_t i = 0; i < window.grid[2]; ++i) {
          for (int64_t t = 0; t < taps; ++t) {
            const auto tap = window.tap(t);
            int64_t z, y, x;
            const bool is_inside = look(window, 0, d, tap[0], size[0], z) &&
                                   look(window, 1, h, tap[1], size[1], y) &&
                                   look(window, 2, i, tap[2], size[2], x);
            rows[t] = is_inside ? image + z * from_layout.place[0] + y * from_layout.place[1] +
                                      x * from_layout.place[2]
                                : nullptr;
          }
          kernels.weigh_channels(channels, taps, rows.data(), weights.data(), channels, bias,
                                 out + target(d, h, i));
        }
      }
    });
  }
};

// Gradients of the weights: sums over images and places, row by row.
template <class P>
struct WeightSums {
  const Geometry& g;
  const P *x, *y;
  Layout x_layout, y_layout;
  P* weight;
  Window window;

  void run() const { g.is_channels_last ? run_channels() : run_planes(); }

 private:
  // Rows are summed in the element type, and their sums in double.
  void run_planes() const {
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const int64_t taps = window.num_taps(), work = g.images * window.places() * taps;
    parallel_for(0, g.groups, grain_for(work), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          const auto tap = window.tap(t);
          Window single{window.grid, window.step, {}};
          single.taps[2].push_back(tap[2]);
          const Interior inside(single, g.in[2]);
          const int64_t count = inside.last - inside.first;
          double total = 0;
          for (int64_t n = 0; n < g.images && count > 0; ++n)
            for (int64_t d = 0; d < window.grid[0]; ++d)
              for (int64_t h = 0; h < window.grid[1]; ++h) {
                int64_t z, r;
                if (!look(window, 0, d, tap[0], g.in[0], z) ||
                    !look(window, 1, h, tap[1], g.in[1], r))
                  continue;
                const P* a = y + n * y_layout.image + c * y_layout.channel + d * y_layout.place[0] +
                             h * y_layout.place[1] + inside.first;
                const P* b = x + n * x_layout.image + c * x_layout.channel + z * x_layout.place[0] +
                             r * x_layout.place[1] + inside.first * window.step[2] + tap[2].offset;
                total += kernels.dot_row(count, window.step[2], a, b);
              }
          weight[c * taps + t] = static_cast<P>(total);
        }
    });
  }

  void run_channels() const {
    constexpr int64_t kBlock = 64;
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const int64_t channels = g.groups, taps = window.num_taps();
    const int64_t blocks = (channels + kBlock - 1) / kBlock;
    const int64_t work = g.images * window.places() * taps * kBlock;
    parallel_for(0, blocks, grain_for(work), [&](int64_t begin, int64_t end) {
      std::vector<P> row(taps * kBlock);
      std::vector<double> total(taps * kBlock);
      for (int64_t block = begin; block < end; ++block) {
        const int64_t c = block * kBlock, count = std::min(kBlock, channels - c);
        std::fill(total.begin(), total.end(), 0.0);
        for (int64_t n = 0; n < g.images; ++n)
          for (int64_t d = 0; d < window.grid[0]; ++d)
            for (int64_t h = 0; h < window.grid[1]; ++h) {
              add_row(kernels, n, d, h, c, count, row);
              for (size_t i = 0; i < row.size(); ++i) total[i] += row[i];
            }
        for (int64_t t = 0; t < taps; ++t)
          for (int64_t i = 0; i < count; ++i)
            weight[(c + i) * taps + t] = static_cast<P>(total[t * kBlock + i]);
      }
    });
  }
  void add_row(const RowKernels<P>& kernels, int64_t n, int64_t d, int64_t h, int64_t c,
               int64_t count, std::vector<P>& row) const {
    const int64_t taps = window.num_taps(), block = static_cast<int64_t>(row.size()) / taps;
    std::fill(row.begin(), row.end(), P(0));
    for (int64_t t = 0; t < taps; ++t) {
      const auto tap = window.tap(t);
      int64_t z, r, w;
      if (!look(window, 0, d, tap[0], g.in[0], z) || !look(window, 1, h, tap[1], g.in[1], r))
        continue;
      const P* a = y + n * y_layout.image + d * y_layout.place[0] + h * y_layout.place[1] + c;
      const P* b = x + n * x_layout.image + z * x_layout.place[0] + r * x_layout.place[1] + c;
      for (int64_t i = 0; i < window.grid[2]; ++i)
        if (look(window, 2, i, tap[2], g.in[2], w))
          kernels.add_products(count, a + i * y_layout.place[2], b + w * x_layout.place[2],
                               row.data() + t * block);
    }
  }
};

template <class F>
void visit(DType dtype, F&& f) {
  return dtype == DType::Float ? f(float{}) : f(double{});
}

template <class P>
P* data_of(const Tensor& t) {
  return t.defined() ? static_cast<P*>(t.data()) : nullptr;
}

}  // namespace

bool is_depthwise(const Tensors& t) {
  const Geometry& g = t.geometry;
  const DType dtype = t.x.dtype();
  return g.in_channels == 1 && g.out_channels == 1 && g.groups > 1 &&
         (dtype == DType::Float || dtype == DType::Double);
}

void depthwise_forward(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  visit(t.x.dtype(), [&](auto tag) {
    using P = decltype(tag);
    Gather<P>{g,
              data_of<P>(t.x),
              Layout(t.x),
              g.in,
              data_of<P>(t.y),
              Layout(t.y),
              {},
              {1, 1, 1},
              data_of<P>(t.weight),
              WeightLayout(t.weight),
              data_of<P>(bias),
              forward_window(g)}
        .run();
  });
}

void depthwise_input(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  visit(t.x.dtype(), [&](auto tag) {
    using P = decltype(tag);
    for_residues(g, [&](const Extents& residue, const Window& window) {
      Gather<P>{g,
                data_of<P>(t.y),
                Layout(t.y),
                g.out,
                data_of<P>(t.x),
                Layout(t.x),
                residue,
                g.stride,
                data_of<P>(t.weight),
                WeightLayout(t.weight),
                data_of<P>(bias),
                window}
          .run();
    });
  });
}

void depthwise_weight(const Tensors& t) {
  const Geometry& g = t.geometry;
  visit(t.x.dtype(), [&](auto tag) {
    using P = decltype(tag);
    WeightSums<P>{g,           data_of<P>(t.x),      data_of<P>(t.y),  Layout(t.x),
                  Layout(t.y), data_of<P>(t.weight), forward_window(g)}
        .run();
  });
}

}  // namespace taeda::cpu::convolution_kernels
