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

// A plane with zeros around it, so that every tap of every point reads inside: positions [low, low
// + extent) of each dimension, row by row.
template <class P>
class Padded {
 public:
  Padded(const Window& w, const Extents& size) : window_(w) {
    for (int d = 0; d < kSpatial; ++d) {
      int64_t high = 0;
      low_[d] = 0;
      for (size_t t = 0; t < w.taps[d].size(); ++t) {
        low_[d] = t == 0 ? w.taps[d][t].offset : std::min(low_[d], w.taps[d][t].offset);
        high = t == 0 ? w.taps[d][t].offset : std::max(high, w.taps[d][t].offset);
      }
      extent_[d] = (w.grid[d] - 1) * w.step[d] + high - low_[d] + 1;
      first_[d] = std::max<int64_t>(low_[d], 0);
      last_[d] = std::min(low_[d] + extent_[d], size[d]);
    }
    data_.resize(extent_[0] * extent_[1] * extent_[2] + 2 * kRowSlack);
  }

  const Extents& extent() const { return extent_; }
  // What a tap reads for the first point, and how much further the first point of another row of
  // the grid reads.
  const P* first_row(const std::array<Tap, kSpatial>& tap) const {
    const int64_t z = tap[0].offset - low_[0], y = tap[1].offset - low_[1];
    return data_.data() + (z * extent_[1] + y) * extent_[2] + tap[2].offset - low_[2];
  }
  int64_t row_offset(int64_t d, int64_t h) const {
    return (d * window_.step[0] * extent_[1] + h * window_.step[1]) * extent_[2];
  }
  // Zeros stay where they are: every plane covers the same part.
  void load(const P* plane, const Layout& layout) {
    for (int64_t z = first_[0]; z < last_[0]; ++z)
      for (int64_t y = first_[1]; y < last_[1]; ++y) {
        const P* from = plane + z * layout.place[0] + y * layout.place[1];
        P* to = data_.data() + ((z - low_[0]) * extent_[1] + y - low_[1]) * extent_[2] - low_[2];
        if (last_[2] > first_[2]) std::copy(from + first_[2], from + last_[2], to + first_[2]);
      }
  }

 private:
  const Window& window_;
  Extents low_, extent_, first_, last_;
  std::vector<P> data_;
};

// Points of a window as rows that kernels take at once: all of them, pitched as the padded plane,
// where its steps are 1; else one row of the grid.
struct RowPlan {
  bool is_flat;
  int64_t count, calls;  // elements of a row, rows

  RowPlan(const Window& w, const Extents& extent)
      : is_flat(w.step == Extents{1, 1, 1}),
        count(is_flat ? ((w.grid[0] - 1) * extent[1] + w.grid[1] - 1) * extent[2] + w.grid[2]
                      : w.grid[2]),
        calls(is_flat ? 1 : w.grid[0] * w.grid[1]) {}
};

// Finishes planes that become final one after another, some at a time.
class FinishPlanes {
 public:
  FinishPlanes(const Finish& finish, int64_t first) : finish_(finish), first_(first) {}
  ~FinishPlanes() { flush(); }
  FinishPlanes(const FinishPlanes&) = delete;

  // The next plane is final.
  void add() {
    if (++count_ >= finish_.rows_at_once()) flush();
  }

 private:
  void flush() {
    if (count_ > 0) finish_.rows(first_, count_);
    first_ += count_;
    count_ = 0;
  }

  const Finish& finish_;
  int64_t first_, count_ = 0;
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
  Finish finish;

  int64_t tap_offset(const Tap& a, const Tap& b, const Tap& c) const {
    return a.kernel * weight_layout.tap[0] + b.kernel * weight_layout.tap[1] +
           c.kernel * weight_layout.tap[2];
  }
  int64_t target(int64_t d, int64_t h, int64_t w) const {
    return (first[0] + d * step[0]) * to_layout.place[0] +
           (first[1] + h * step[1]) * to_layout.place[1] +
           (first[2] + w * step[2]) * to_layout.place[2];
  }
  void run() const { g.is_channels_last ? run_channels() : run_planes(); }

 private:
  // Sums of each row of the plan, then their way into the result.
  void run_planes() const {
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const int64_t planes = g.images * g.groups, num_taps = window.num_taps();
    const int64_t work = window.places() * std::max<int64_t>(num_taps, 1);
    parallel_for(0, planes, grain_for(work), [&](int64_t begin, int64_t end) {
      Padded<P> padded(window, size);
      const RowPlan plan(window, padded.extent());
      std::vector<RowTap<P>> taps(num_taps);
      std::vector<const P*> first_row(num_taps);
      std::vector<int64_t> at(num_taps);
      for (int64_t t = 0; t < num_taps; ++t) {
        const auto tap = window.tap(t);
        first_row[t] = padded.first_row(tap);
        at[t] = tap_offset(tap[0], tap[1], tap[2]);
      }
      std::vector<P> line(plan.count + 4 * kRowSlack);
      FinishPlanes finished(finish, begin);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t n = plane / g.groups, c = plane % g.groups;
        padded.load(from + n * from_layout.image + c * from_layout.channel, from_layout);
        P* out = to + n * to_layout.image + c * to_layout.channel;
        for (int64_t t = 0; t < num_taps; ++t)
          taps[t].weight = weight[c * weight_layout.out + at[t]];
        for (int64_t call = 0; call < plan.calls; ++call) {
          const int64_t d = call / window.grid[1], h = call % window.grid[1];
          const int64_t shift = padded.row_offset(d, h);
          for (int64_t t = 0; t < num_taps; ++t) taps[t].row = first_row[t] + shift;
          kernels.weigh_rows(plan.count, window.step[2], num_taps, taps.data(),
                             bias ? bias[c] : P(0), line.data());
          if (!plan.is_flat) write_row(line.data(), out, d, h);
        }
        if (plan.is_flat)
          for (int64_t d = 0; d < window.grid[0]; ++d)
            for (int64_t h = 0; h < window.grid[1]; ++h)
              write_row(line.data() + (d * padded.extent()[1] + h) * padded.extent()[2], out, d, h);
        finished.add();
      }
    });
  }
  void write_row(const P* row, P* out, int64_t d, int64_t h) const {
    P* at = out + target(d, h, 0);
    const int64_t apart = step[2] * to_layout.place[2];
    if (step[2] == 1)
      std::copy(row, row + window.grid[2], at);
    else
      for (int64_t i = 0; i < window.grid[2]; ++i) at[i * apart] = row[i];
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
      std::vector<const P*> rows(taps), of_line(taps);
      std::vector<std::array<Tap, kSpatial>> tap(taps);
      for (int64_t t = 0; t < taps; ++t) tap[t] = window.tap(t);
      for (int64_t line = begin; line < end; ++line) {
        const int64_t h = line % window.grid[1], d = line / window.grid[1] % window.grid[0];
        const int64_t n = line / (window.grid[1] * window.grid[0]);
        const P* image = from + n * from_layout.image;
        P* out = to + n * to_layout.image + target(d, h, 0);
        int64_t z, y, x;
        for (int64_t t = 0; t < taps; ++t) {
          const bool is_row = look(window, 0, d, tap[t][0], size[0], z) &&
                              look(window, 1, h, tap[t][1], size[1], y);
          of_line[t] =
              is_row ? image + z * from_layout.place[0] + y * from_layout.place[1] : nullptr;
        }
        for (int64_t i = 0; i < window.grid[2]; ++i) {
          for (int64_t t = 0; t < taps; ++t)
            rows[t] = of_line[t] && look(window, 2, i, tap[t][2], size[2], x)
                          ? of_line[t] + x * from_layout.place[2]
                          : nullptr;
          kernels.weigh_channels(channels, taps, rows.data(), weights.data(), channels, bias,
                                 out + i * step[2] * to_layout.place[2]);
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
  // Planes are summed in the element type, and their sums in double.
  void run_planes() const {
    const RowKernels<P>& kernels = row_kernels().get<P>();
    const int64_t num_taps = window.num_taps(), work = g.images * window.places() * num_taps;
    const int64_t plane = window.grid[1] * window.grid[2];
    parallel_for(0, g.groups, grain_for(work), [&](int64_t begin, int64_t end) {
      Padded<P> padded(window, g.in);
      std::vector<RowTap<P>> taps(num_taps);
      std::vector<P> responses(plane + kRowSlack);
      std::vector<double> sums(num_taps);
      for (int64_t c = begin; c < end; ++c) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t n = 0; n < g.images; ++n) {
          padded.load(x + n * x_layout.image + c * x_layout.channel, x_layout);
          for (int64_t d = 0; d < window.grid[0]; ++d) {
            const P* from = y + n * y_layout.image + c * y_layout.channel + d * plane;
            std::copy(from, from + plane, responses.data());
            for (int64_t t = 0; t < num_taps; ++t)
              taps[t].row = padded.first_row(window.tap(t)) + padded.row_offset(d, 0);
            kernels.dot_rows(window.grid[2], window.grid[1], window.step[2], num_taps,
                             responses.data(), window.grid[2], taps.data(),
                             window.step[1] * padded.extent()[2], sums.data());
          }
        }
        for (int64_t t = 0; t < num_taps; ++t) weight[c * num_taps + t] = static_cast<P>(sums[t]);
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

bool is_depthwise(const Geometry& g) {
  return g.in_channels == 1 && g.out_channels == 1 && g.groups > 1 &&
         (g.is_channels_last || g.stride[2] <= 2);
}

Done depthwise_forward(const Tensors& t, const Tensor& bias) {
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
              forward_window(g),
              t.finish}
        .run();
  });
  return g.is_channels_last ? Done::Computed : Done::Finished;
}

Done depthwise_input(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  const Finish finish = g.has_unit_stride() ? t.finish : Finish();
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
                window,
                finish}
          .run();
    });
  });
  const bool is_finished = g.has_unit_stride() && !g.is_channels_last;
  return is_finished ? Done::Finished : Done::Computed;
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
