// Gathering panels of the patch matrix.
#include "taeda/backends/cpu/convolution/patches.h"

#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/gemm/scratch.h"

namespace taeda::cpu::convolution_kernels {
namespace {

using gemm_kernels::kParts;

// Panels of these elements are plain copies of memory.
template <class T>
constexpr bool kIsPlain = std::is_same_v<T, PartOf<T>> && kParts<T> == 1;

// Copies at least one chunk of bytes; the last chunk may lie over the one before it.
template <int64_t kChunk>
[[gnu::always_inline]] inline void copy_chunks(const char* from, int64_t bytes, char* to) {
  for (int64_t at = 0; at + kChunk < bytes; at += kChunk)
    __builtin_memcpy(to + at, from + at, kChunk);
  __builtin_memcpy(to + bytes - kChunk, from + bytes - kChunk, kChunk);
}

// A short run: calls of memcpy would cost more than the copy.
template <class T>
[[gnu::always_inline]] inline void copy_run(const T* from, int64_t count, T* to) {
  const auto bytes = count * static_cast<int64_t>(sizeof(T));
  const char* source = reinterpret_cast<const char*>(from);
  char* target = reinterpret_cast<char*>(to);
  if (bytes >= 64) return copy_chunks<64>(source, bytes, target);
  if (bytes >= 16) return copy_chunks<16>(source, bytes, target);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

template <class T>
void copy_row(const T* from, int64_t step, int64_t count, T* to) {
  if (step == 1) return copy_run(from, count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

// The part [first, last) of a run of `length` points that reads inside a row of `size` elements,
// where the first point looks at `start`.
struct Inside {
  int64_t first, last;

  Inside(int64_t start, int64_t step, int64_t length, int64_t size) {
    first = start >= 0 ? 0 : std::min((-start + step - 1) / step, length);
    last = start >= size ? 0 : std::min((size - 1 - start) / step + 1, length);
    last = std::max(first, last);
  }
};

// The points of one residue of x's positions modulo the stride: the taps that reach them, each at
// a fixed distance from the point in y.
Window residue_window(const Geometry& g, const Extents& residue) {
  Window w{{}, {1, 1, 1}, {}};
  for (int d = 0; d < kSpatial; ++d) {
    w.grid[d] = g.in[d] > residue[d] ? (g.in[d] - residue[d] - 1) / g.stride[d] + 1 : 0;
    for (int64_t k = 0; k < g.kernel[d]; ++k) {
      const int64_t distance = residue[d] + g.padding[d] - k * g.dilation[d];
      if (distance % g.stride[d] == 0) w.taps[d].push_back({k, distance / g.stride[d]});
    }
  }
  return w;
}

}  // namespace

std::array<Tap, kSpatial> Window::tap(int64_t t) const {
  const auto n1 = static_cast<int64_t>(taps[1].size()), n2 = static_cast<int64_t>(taps[2].size());
  return {taps[0][t / (n1 * n2)], taps[1][t / n2 % n1], taps[2][t % n2]};
}

Window forward_window(const Geometry& g) {
  Window w{g.out, g.stride, {}};
  for (int d = 0; d < kSpatial; ++d)
    for (int64_t k = 0; k < g.kernel[d]; ++k)
      w.taps[d].push_back({k, k * g.dilation[d] - g.padding[d]});
  return w;
}

void for_residues(const Geometry& g,
                  FunctionRef<void(const Extents& residue, const Window& window)> body) {
  Extents residue;
  for (residue[0] = 0; residue[0] < g.stride[0]; ++residue[0])
    for (residue[1] = 0; residue[1] < g.stride[1]; ++residue[1])
      for (residue[2] = 0; residue[2] < g.stride[2]; ++residue[2]) {
        const Window window = residue_window(g, residue);
        if (window.places() > 0) body(residue, window);
      }
}

template <class T>
void Patches<T>::gather_rows(const T* images, int64_t place, int64_t places, int64_t pair,
                             int64_t pairs, T* out, int64_t stride) const {
  const int64_t taps = window.num_taps(), step = window.step[2] * layout.place[2];
  for_runs(window, place, places, [&](int64_t image, Extents point, int64_t run, int64_t length) {
    for (int64_t t = 0; t < taps; ++t) {
      // Pairs of this tap are `taps` apart.
      const int64_t first_channel = pair <= t ? 0 : (pair - t + taps - 1) / taps;
      const auto tap = window.tap(t);
      const int64_t d = point[0] * window.step[0] + tap[0].offset;
      const int64_t h = point[1] * window.step[1] + tap[1].offset;
      const int64_t w = point[2] * window.step[2] + tap[2].offset;
      const bool is_row = d >= 0 && d < size[0] && h >= 0 && h < size[1];
      const Inside inside(w, window.step[2], is_row ? length : 0, size[2]);
      const T* row = images + image * layout.image + d * layout.place[0] + h * layout.place[1] +
                     w * layout.place[2];
      for (int64_t c = first_channel; c * taps + t < pair + pairs; ++c) {
        T* to = out + (c * taps + t - pair) * stride + run;
        for (int64_t i = 0; i < inside.first; ++i) to[i] = T{};
        copy_row(row + c * layout.channel + inside.first * step, step, inside.last - inside.first,
                 to + inside.first);
        for (int64_t i = inside.last; i < length; ++i) to[i] = T{};
      }
    }
  });
}

template <class T>
void Patches<T>::gather_channels(const T* images, int64_t place, int64_t places, int64_t pair,
                                 int64_t pairs, T* out, int64_t stride) const {
  for (int64_t p = pair; p < pair + pairs;) {
    const int64_t c = p % channels, count = std::min(channels - c, pair + pairs - p);
    const auto tap = window.tap(p / channels);
    for_runs(window, place, places, [&](int64_t image, Extents point, int64_t run, int64_t length) {
      const int64_t d = point[0] * window.step[0] + tap[0].offset;
      const int64_t h = point[1] * window.step[1] + tap[1].offset;
      const bool is_row = d >= 0 && d < size[0] && h >= 0 && h < size[1];
      const T* row = images + image * layout.image + d * layout.place[0] + h * layout.place[1] +
                     c * layout.channel;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t w = (point[2] + i) * window.step[2] + tap[2].offset;
        T* to = out + (run + i) * stride + (p - pair);
        if (is_row && w >= 0 && w < size[2])
          std::memcpy(to, row + w * layout.place[2], count * sizeof(T));
        else
          std::memset(static_cast<void*>(to), 0, count * sizeof(T));
      }
    });
    p += count;
  }
}

template <class T>
void Patches<T>::pack_places(int64_t group, int64_t place, int64_t places, int64_t pair,
                             int64_t pairs, int width, PartOf<T>* dst) const {
  const auto& kernels = gemm_kernels::kernels().get<T>();
  const T* image = data + group * channels * layout.channel;
  if (is_channels_last) {
    T* rows = scratch_array<T>(Scratch::Patches, places * pairs);
    gather_channels(image, place, places, pair, pairs, rows, pairs);
    return kernels.pack(places, pairs, rows, pairs, 1, width, dst);
  }
  if constexpr (kIsPlain<T>) {
    gather_rows(image, place, places, pair, pairs, dst, width);
    for (int64_t p = 0; places < width && p < pairs; ++p)
      std::fill(dst + p * width + places, dst + (p + 1) * width, T{});
  } else {
    T* rows = scratch_array<T>(Scratch::Patches, places * pairs);
    gather_rows(image, place, places, pair, pairs, rows, places);
    kernels.pack(places, pairs, rows, 1, places, width, dst);
  }
}

template <class T>
void Patches<T>::pack_pairs(int64_t group, int64_t pair, int64_t pairs, int64_t place,
                            int64_t places, int width, PartOf<T>* dst) const {
  const auto& kernels = gemm_kernels::kernels().get<T>();
  const T* image = data + group * channels * layout.channel;
  T* rows = scratch_array<T>(Scratch::Patches, places * pairs);
  if (is_channels_last) {
    gather_channels(image, place, places, pair, pairs, rows, pairs);
    return kernels.pack(pairs, places, rows, 1, pairs, width, dst);
  }
  gather_rows(image, place, places, pair, pairs, rows, places);
  kernels.pack(pairs, places, rows, places, 1, width, dst);
}

#define TAEDA_INSTANTIATE(T) template struct Patches<T>;
TAEDA_GEMM_FOR_EACH_TYPE(TAEDA_INSTANTIATE)
#undef TAEDA_INSTANTIATE

}  // namespace taeda::cpu::convolution_kernels
