// The patch matrix of a convolution, of which only panels ever exist.
//
// Its one index is a place: an image and a point of a grid. Its other index is a pair of a channel
// and a tap: where on the image the point looks. Taps change fastest where channels lie outermost
// in memory, channels where they lie innermost.
#pragma once

#include "taeda/backends/cpu/convolution/geometry.h"
#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/base/function_ref.h"
#include "taeda/base/small_vector.h"

namespace taeda::cpu::convolution_kernels {

using gemm_kernels::PartOf;

// The tap of index `kernel` reads at `offset` from where the point stands.
struct Tap {
  int64_t kernel, offset;
};
using Taps = SmallVector<Tap, 8>;

// Points of a grid and where they read: point q of dimension d looks at q * step[d] + tap.offset.
struct Window {
  Extents grid, step;
  std::array<Taps, kSpatial> taps;

  int64_t places() const { return grid[0] * grid[1] * grid[2]; }
  int64_t num_taps() const {
    return static_cast<int64_t>(taps[0].size() * taps[1].size() * taps[2].size());
  }
  // Of tap number `t` in row-major order.
  std::array<Tap, kSpatial> tap(int64_t t) const;
};

// All places of the result of a plain convolution.
Window forward_window(const Geometry& g);
// The elements of x, by their residue modulo the stride: all elements of a residue are reached by
// the same taps, and each tap comes from a fixed distance in y. Calls body for each residue that
// has elements; the element at point q lies at residue + q * stride.
void for_residues(const Geometry& g,
                  FunctionRef<void(const Extents& residue, const Window& window)> body);

template <class T>
struct Patches {
  const T* data;
  Layout layout;
  Extents size;      // of an image
  int64_t channels;  // per group
  Window window;
  bool is_channels_last;

  int64_t pairs() const { return channels * window.num_taps(); }
  struct Pair {
    int64_t channel, tap;
  };
  Pair pair(int64_t p) const {
    return is_channels_last ? Pair{p % channels, p / channels}
                            : Pair{p / window.num_taps(), p % window.num_taps()};
  }

  // A panel whose lanes are places and whose depth are pairs; see Operand::pack.
  void pack_places(int64_t group, int64_t place, int64_t places, int64_t pair, int64_t pairs,
                   int width, PartOf<T>* dst) const;
  // A panel whose lanes are pairs and whose depth are places.
  void pack_pairs(int64_t group, int64_t pair, int64_t pairs, int64_t place, int64_t places,
                  int width, PartOf<T>* dst) const;

 private:
  // out[(p - pair) * stride + (i - place)] for pair p and place i, read in rows of the image.
  void gather_rows(const T* image, int64_t place, int64_t places, int64_t pair, int64_t pairs,
                   T* out, int64_t stride) const;
  // out[(i - place) * stride + (p - pair)], read in runs of channels.
  void gather_channels(const T* image, int64_t place, int64_t places, int64_t pair, int64_t pairs,
                       T* out, int64_t stride) const;
};

// Calls f(image, point, first, length) for each run of places along the last dimension of the grid;
// `first` counts from `place`.
template <class F>
void for_runs(const Window& w, int64_t place, int64_t places, F&& f) {
  const int64_t all = w.places();
  for (int64_t done = 0; done < places;) {
    const int64_t at = place + done, image = at / all, rest = at % all;
    const Extents point = {rest / (w.grid[1] * w.grid[2]), rest / w.grid[2] % w.grid[1],
                           rest % w.grid[2]};
    const int64_t room = w.grid[2] - point[2], left = places - done;
    const int64_t length = room < left ? room : left;
    f(image, point, done, length);
    done += length;
  }
}

}  // namespace taeda::cpu::convolution_kernels
