// The one driver of reductions: strides, dtype conversion, threads and the reduction tree around a
// reducer.
//
// A reducer has
//   Element                              what a tile holds
//   State                                what a chunk becomes
//   State chunk(const Element*, n, first) reduces n <= kReduceChunk elements, the first at position
//   `first` State apply(State, State)            combines neighbours, left and right State
//   identity()                     of nothing void store(State, char* const* out)  converts and
//   writes the results
// and, when outputs may be accumulated row by row, `ReduceFns<Element> fns()` with State = Element.
// Scratch memory is on the stack: one tile a thread and a bounded number of states.
#pragma once

#include <algorithm>
#include <bit>

#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/reduce_shape.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::cpu {

// Elements worth a thread.
constexpr int64_t kReduceGrain = 32768;

// How elements come into tiles: as they lie in memory (`load` null) or converted.
struct TileSource {
  LoadFn load;
  bool is_direct;
};
inline TileSource tile_source(DType memory, ComputeType tile) {
  return {load_fn(memory, tile), memory == compute_dtype(tile)};
}

namespace reduce_detail {

template <class Reducer>
struct Cascade {
  typename Reducer::State level[52];
  int64_t count = 0;
  void push(const Reducer& r, typename Reducer::State value) {
    int depth = 0;
    for (int64_t bits = count; bits & 1; bits >>= 1) value = r.apply(level[depth++], value);
    level[depth] = value;
    ++count;
  }
  typename Reducer::State finish(const Reducer& r) const {
    if (count == 0) return r.identity();
    int depth = std::countr_zero(static_cast<uint64_t>(count));
    typename Reducer::State value = level[depth];
    for (++depth; (count >> depth) != 0; ++depth)
      if ((count >> depth) & 1) value = r.apply(level[depth], value);
    return value;
  }
};

template <class Reducer>
class Runs {
 public:
  using Element = typename Reducer::Element;
  using State = typename Reducer::State;
  static constexpr int64_t kChunk = kernel::kReduceChunk;

  Runs(const Reducer& reducer, const ReduceShape& shape, TileSource source, const char* in,
       char* const* out)
      : reducer_(reducer), shape_(shape), source_(source), in_(in), out_(out) {
    is_plain_ =
        source.is_direct && shape.reduced.size() == 1 &&
        (shape.reduced[0].in == static_cast<int64_t>(sizeof(Element)) || shape.num_reduced == 1);
  }

  void run() const {
    const int64_t n = shape_.num_reduced, outputs = shape_.num_outputs;
    if (n > 4 * kReduceGrain && outputs < 2 * num_threads()) {
      for (int64_t o = 0; o < outputs; ++o) run_split(o);
    } else if (shape_.is_kept_inner() && source_.load) {
      run_panels();
    } else {
      parallel_for(0, outputs, std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(n, 1)),
                   [&](int64_t first, int64_t last) { run_outputs(first, last); });
    }
  }

 private:
  void run_outputs(int64_t first, int64_t last) const {
    alignas(64) Element tile[kChunk];
    for (int64_t o = first; o < last; ++o) {
      char* to[2];
      const char* from = shape_.output_at(in_, out_, o, to);
      reducer_.store(reduce(from, 0, shape_.num_reduced, tile), to);
    }
  }

  State reduce(const char* from, int64_t first, int64_t last, Element* tile) const {
    if (last - first <= kChunk)
      return first < last ? chunk(from, first, last - first, tile) : reducer_.identity();
    Cascade<Reducer> cascade;
    for (int64_t at = first; at < last; at += kChunk)
      cascade.push(reducer_, chunk(from, at, std::min(kChunk, last - at), tile));
    return cascade.finish(reducer_);
  }

  State chunk(const char* from, int64_t first, int64_t n, Element* tile) const {
    if (is_plain_) return reducer_.chunk(reinterpret_cast<const Element*>(from) + first, n, first);
    shape_.fill(source_.load, from, first, n, reinterpret_cast<char*>(tile), sizeof(Element));
    return reducer_.chunk(tile, n, first);
  }

  // One output by all threads. Each takes whole subtrees of the cascade, so that the result is that
  // of one thread: see Note [Reduction tree].
  void run_split(int64_t output) const {
    constexpr int64_t kMaxParts = 128;
    State parts[kMaxParts];
    char* to[2];
    const char* from = shape_.output_at(in_, out_, output, to);
    const int64_t n = shape_.num_reduced, chunks = (n + kChunk - 1) / kChunk;
    int64_t per_part = 1;
    while ((chunks + per_part - 1) / per_part > kMaxParts) per_part *= 2;
    const int64_t count = (chunks + per_part - 1) / per_part, step = per_part * kChunk;
    parallel_for(0, count, std::max<int64_t>(1, kReduceGrain / step),
                 [&](int64_t first, int64_t last) {
                   alignas(64) Element tile[kChunk];
                   for (int64_t p = first; p < last; ++p)
                     parts[p] = reduce(from, p * step, std::min(n, (p + 1) * step), tile);
                 });
    Cascade<Reducer> cascade;
    for (int64_t p = 0; p < count; ++p) cascade.push(reducer_, parts[p]);
    reducer_.store(cascade.finish(reducer_), to);
  }

  // Several outputs that are neighbours in memory at once, so that whole cache lines are read.
  void run_panels() const {
    constexpr int64_t kLines = 16, kLength = 128;
    const int64_t inner = shape_.kept[0].size, per_row = (inner + kLines - 1) / kLines;
    const int64_t rows = shape_.num_outputs / inner, n = shape_.num_reduced;
    const int64_t grain = std::max<int64_t>(1, kReduceGrain / (kLines * n));
    parallel_for(0, rows * per_row, grain, [&](int64_t first, int64_t last) {
      alignas(64) Element loaded[kLength * kLines], lines[kLines][kLength];
      Cascade<Reducer> cascades[kLines];
      for (int64_t panel = first; panel < last; ++panel) {
        const int64_t begin = panel % per_row * kLines, width = std::min(kLines, inner - begin);
        char* to[2];
        const char* from = shape_.output_at(in_, out_, panel / per_row * inner + begin, to);
        for (Cascade<Reducer>& c : cascades) c.count = 0;
        for (int64_t at = 0; at < n; at += kLength) {
          const int64_t length = std::min(kLength, n - at);
          load_panel(from, at, length, width, loaded);
          for (int64_t i = 0; i < length; ++i)
            for (int64_t j = 0; j < width; ++j) lines[j][i] = loaded[i * width + j];
          for (int64_t j = 0; j < width; ++j)
            cascades[j].push(reducer_, reducer_.chunk(lines[j], length, at));
        }
        for (int64_t j = 0; j < width; ++j) {
          char* const each[2] = {to[0] + j * shape_.kept[0].out[0],
                                 to[1] + j * shape_.kept[0].out[1]};
          reducer_.store(cascades[j].finish(reducer_), each);
        }
      }
    });
  }

  void load_panel(const char* from, int64_t first, int64_t n, int64_t width, Element* to) const {
    const auto& reduced = shape_.reduced;
    while (n > 0) {
      const char* at = from;
      int64_t rest = first / reduced[0].size;
      const int64_t col = first % reduced[0].size;
      for (size_t d = 1; d < reduced.size(); ++d) {
        at += rest % reduced[d].size * reduced[d].in;
        rest /= reduced[d].size;
      }
      const int64_t rows = std::min(n, reduced[0].size - col);
      source_.load(at + col * reduced[0].in, Block{rows, width, reduced[0].in, shape_.kept[0].in},
                   reinterpret_cast<char*>(to));
      first += rows;
      n -= rows;
      to += rows * width;
    }
  }

  const Reducer& reducer_;
  const ReduceShape& shape_;
  TileSource source_;
  const char* in_;
  char* const* out_;
  bool is_plain_;
};

}  // namespace reduce_detail

// Reduces `self` over the dimensions in `bits` into the outs (one or two).
template <class Reducer>
void run_reduction(const Reducer& reducer, const ReduceShape& shape, TileSource source,
                   const Tensor& self, Span<const Tensor*> outs) {
  if (shape.num_outputs == 0) return;
  char* const out[2] = {static_cast<char*>(outs[0]->data()),
                        outs.size() > 1 ? static_cast<char*>(outs[1]->data()) : nullptr};
  reduce_detail::Runs<Reducer>(reducer, shape, source, static_cast<const char*>(self.data()), out)
      .run();
}

}  // namespace taeda::cpu
