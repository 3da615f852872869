// Moves elements by maps of their dimensions.
#include "taeda/backends/cpu/window/axis_map.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/window/window_rows.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

AxisMap AxisMap::identity(int64_t n) {
  AxisMap map{std::vector<int64_t>(n), n};
  std::iota(map.from.begin(), map.from.end(), 0);
  return map;
}

namespace {

template <class Rule>
AxisMap border(int64_t in, int64_t before, int64_t out, Rule&& rule) {
  AxisMap map{std::vector<int64_t>(out), in};
  for (int64_t o = 0; o < out; ++o) map.from[o] = rule(o - before);
  return map;
}

// Neighbours that come from neighbours, the longest such run: it is copied or added at once.
struct Run {
  int64_t first = 0, last = 0;
};

Run longest_run(const AxisMap& axis) {
  Run best;
  const int64_t n = static_cast<int64_t>(axis.from.size());
  for (int64_t first = 0; first < n;) {
    int64_t last = first + 1;
    while (last < n && axis.from[first] >= 0 && axis.from[last] == axis.from[last - 1] + 1) ++last;
    if (axis.from[first] >= 0 && last - first > best.last - best.first) best = {first, last};
    first = last;
  }
  return best;
}

// One row of the result from the row it comes from.
template <class Item>
class RowMove {
 public:
  RowMove(const AxisMap& axis, int64_t inner, const char* value)
      : axis_(axis), run_(longest_run(axis)), inner_(inner) {
    std::memcpy(&value_, value, sizeof(Item));
  }
  int64_t width() const { return static_cast<int64_t>(axis_.from.size()) * inner_; }
  void fill(Item* to) const { std::fill(to, to + width(), value_); }
  void operator()(const Item* from, Item* to) const {
    each(from, to, 0, run_.first);
    if (run_.last > run_.first)
      std::memcpy(to + run_.first * inner_, from + axis_.from[run_.first] * inner_,
                  (run_.last - run_.first) * inner_ * sizeof(Item));
    each(from, to, run_.last, static_cast<int64_t>(axis_.from.size()));
  }

 private:
  void each(const Item* from, Item* to, int64_t first, int64_t last) const {
    if (inner_ == 1) {
      for (int64_t o = first; o < last; ++o)
        to[o] = axis_.from[o] < 0 ? value_ : from[axis_.from[o]];
      return;
    }
    for (int64_t o = first; o < last; ++o) {
      Item* const group = to + o * inner_;
      if (axis_.from[o] < 0)
        std::fill(group, group + inner_, value_);
      else
        std::memcpy(group, from + axis_.from[o] * inner_, inner_ * sizeof(Item));
    }
  }

  const AxisMap& axis_;
  Run run_;
  int64_t inner_;
  Item value_;
};

// The row of the result that is being made, by the outer dimensions. It moves without divisions,
// which would cost as much as a short row.
class RowPlace {
 public:
  RowPlace(Span<AxisMap> axes, int64_t row) : axes_(axes), at_(axes.size()) {
    for (size_t a = axes.size(); a-- > 0; row /= size(a)) at_[a] = row % size(a);
  }
  void advance() {
    for (size_t a = axes_.size(); a-- > 0; at_[a] = 0)
      if (++at_[a] < size(a)) return;
  }
  // The row it comes from, kOutside where that is outside in any dimension.
  int64_t source() const {
    int64_t row = 0;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const int64_t from = axes_[a].from[at_[a]];
      if (from < 0) return AxisMap::kOutside;
      row = row * axes_[a].in + from;
    }
    return row;
  }

 private:
  int64_t size(size_t a) const { return static_cast<int64_t>(axes_[a].from.size()); }

  Span<AxisMap> axes_;
  std::vector<int64_t> at_;
};

template <class Item>
void move_rows(const char* in, char* out, Span<AxisMap> axes, int64_t inner, const char* value) {
  const size_t outer = axes.size() - 1;
  const RowMove<Item> move(axes[outer], inner, value);
  const int64_t in_width = axes[outer].in * inner;
  int64_t rows = 1;
  for (size_t a = 0; a < outer; ++a) rows *= static_cast<int64_t>(axes[a].from.size());
  const auto* const source = reinterpret_cast<const Item*>(in);
  auto* const target = reinterpret_cast<Item*>(out);
  parallel_for(0, rows, row_grain(move.width()), [&](int64_t first, int64_t last) {
    RowPlace place(Span<AxisMap>(axes.data(), outer), first);
    for (int64_t r = first; r < last; ++r, place.advance()) {
      const int64_t from = place.source();
      if (from < 0)
        move.fill(target + r * move.width());
      else
        move(source + from * in_width, target + r * move.width());
    }
  });
}

using Wide16 = std::array<uint64_t, 2>;

}  // namespace

AxisMap constant_border(int64_t in, int64_t before, int64_t out) {
  return border(in, before, out,
                [&](int64_t i) { return i < 0 || i >= in ? AxisMap::kOutside : i; });
}

AxisMap reflected_border(int64_t in, int64_t before, int64_t out) {
  return border(in, before, out, [&](int64_t i) {
    const int64_t folded = i < 0 ? -i : i;
    return folded < in ? folded : 2 * (in - 1) - folded;
  });
}

AxisMap replicated_border(int64_t in, int64_t before, int64_t out) {
  return border(in, before, out, [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); });
}

void move_by_maps(const char* in, char* out, Span<AxisMap> axes, int64_t inner, int64_t item,
                  const char* value) {
  switch (item) {
    case 1: return move_rows<uint8_t>(in, out, axes, inner, value);
    case 2: return move_rows<uint16_t>(in, out, axes, inner, value);
    case 4: return move_rows<uint32_t>(in, out, axes, inner, value);
    case 8: return move_rows<uint64_t>(in, out, axes, inner, value);
    default: return move_rows<Wide16>(in, out, axes, inner, value);
  }
}

void move_volume(const Tensor& self, const AxisMap (&axes)[3], int64_t spatial, MemoryFormat format,
                 Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = self.contiguous(format);
  DenseResult made(out, format);
  const Volume in(x, spatial, format);
  const AxisMap all[] = {AxisMap::identity(in.planes), axes[0], axes[1], axes[2]};
  const char unused[16] = {};
  move_by_maps(static_cast<const char*>(x.data()), static_cast<char*>(made.tensor().data()), all,
               in.inner, x.element_size(), unused);
  made.finish();
}

namespace {

template <class T>
void add_planes(const Tensor& grad, const AxisMap (&axes)[3], const Volume& source,
                const Tensor& out, const Volume& target) {
  const RunReader<T> read(grad);
  const RunWriter<T> write(out);
  const WindowRows<T>& rows = window_rows<T>();
  const Run run = longest_run(axes[2]);
  const int64_t inner = source.inner, per_plane = source.size[0] * source.size[1];
  parallel_for(0, source.planes, row_grain(source.plane()), [&](int64_t first, int64_t last) {
    std::vector<T> buffer(source.width()), made(write.is_plain() ? 0 : target.plane());
    for (int64_t p = first; p < last; ++p) {
      T* const plane = write.at(p * target.plane(), made.data());
      std::fill(plane, plane + target.plane(), T(0));
      for (int64_t r = 0; r < per_plane; ++r) {
        const T* const g =
            read.get((p * per_plane + r) * source.width(), source.width(), buffer.data());
        const int64_t d = axes[0].from[r / source.size[1]], h = axes[1].from[r % source.size[1]];
        T* const row = plane + (d * target.size[1] + h) * target.width();
        for (int64_t o = 0; o < source.size[2]; ++o) {
          if (o == run.first && run.last > run.first) {
            rows.add(row + axes[2].from[o] * inner, g + o * inner, (run.last - run.first) * inner);
            o = run.last - 1;
            continue;
          }
          T* const to = row + axes[2].from[o] * inner;
          for (int64_t c = 0; c < inner; ++c) to[c] += g[o * inner + c];
        }
      }
      write.put(p * target.plane(), target.plane(), plane);
    }
  });
}

}  // namespace

void add_by_maps(const Tensor& grad, const AxisMap (&axes)[3], int64_t spatial, MemoryFormat format,
                 Tensor& out) {
  if (out.numel() == 0) return;
  Tensor g = grad.contiguous(format);
  DenseResult made(out, format);
  Volume source(g, spatial, format), target(out, spatial, format);
  Tensor to = made.tensor();
  if (g.is_complex()) {
    // Two numbers at each place.
    g = taeda::view_as_real(g);
    to = taeda::view_as_real(to);
    source.inner *= 2;
    target.inner *= 2;
  }
  if (compute_type(g.dtype()) == ComputeType::F64)
    add_planes<double>(g, axes, source, to, target);
  else
    add_planes<float>(g, axes, source, to, target);
  made.finish();
}

}  // namespace taeda::cpu
