// Reductions over outer dimensions: rows are streamed into vectors of accumulators.
#pragma once

#include "taeda/backends/cpu/reduce/reduce_driver.h"

namespace taeda::cpu {

// For reducers whose State is their Element. A block of kRowBlock rows is accumulated in order, and
// the blocks' results are combined by the cascade of Note [Reduction tree], column by column.
// Strips of columns and subtrees of blocks go to threads; neither changes a result.
template <class Reducer>
class RowReduction {
 public:
  using T = typename Reducer::Element;
  static constexpr int64_t kRowBlock = 256;
  static constexpr int64_t kScratchBytes = 65536, kTileBytes = 16384, kMaxStripBytes = 4096;

  RowReduction(const Reducer& reducer, const ReduceShape& shape, TileSource source, const char* in,
               char* const* out)
      : reducer_(reducer), fns_(reducer.fns()), shape_(shape), source_(source), in_(in), out_(out) {
    blocks_ = (shape.num_reduced + kRowBlock - 1) / kRowBlock;
    levels_ = std::bit_width(static_cast<uint64_t>(blocks_)) + 1;
    inner_ = shape.kept[0].size;
    rows_ = shape.num_outputs / inner_;
    is_plain_ = source.is_direct && shape.kept[0].in == static_cast<int64_t>(sizeof(T));
  }

  void run() const {
    const int64_t threads = num_threads(), n = shape_.num_reduced;
    const int64_t most =
        std::min(kMaxStripBytes, kScratchBytes / levels_) / static_cast<int64_t>(sizeof(T));
    int64_t width = std::min(inner_, most);
    // Narrower strips where threads would have nothing to do, but whole cache lines.
    if (rows_ * ((inner_ + width - 1) / width) < 2 * threads)
      width = std::min(width, std::max<int64_t>(64, (inner_ / (2 * threads) + 15) / 16 * 16));
    const int64_t strips = (inner_ + width - 1) / width;
    if (rows_ * strips < threads && n * width > 4 * kReduceGrain) {
      for (int64_t s = 0; s < rows_ * strips; ++s) run_split(s / strips, s % strips * width, width);
      return;
    }
    parallel_for(0, rows_ * strips, std::max<int64_t>(1, kReduceGrain / (width * n)),
                 [&](int64_t first, int64_t last) {
                   alignas(64) char scratch[kScratchBytes], tile[kTileBytes];
                   for (int64_t s = first; s < last; ++s) {
                     const Strip strip = strip_at(s / strips, s % strips * width, width);
                     write(strip, cascade(strip, 0, blocks_, reinterpret_cast<T*>(scratch), tile));
                   }
                 });
  }

 private:
  struct Strip {
    const char* from;
    char* to[2];
    int64_t width;
  };

  Strip strip_at(int64_t row, int64_t column, int64_t width) const {
    Strip s;
    s.from = shape_.output_at(in_, out_, row * inner_ + column, s.to);
    s.width = std::min(width, inner_ - column);
    return s;
  }

  void write(const Strip& s, const T* values) const {
    for (int64_t j = 0; j < s.width; ++j) {
      char* const to[2] = {s.to[0] + j * shape_.kept[0].out[0], nullptr};
      reducer_.store(values[j], to);
    }
  }

  // One strip by all threads: subtrees of the cascade.
  void run_split(int64_t row, int64_t column, int64_t width) const {
    alignas(64) char parts[kScratchBytes];
    const Strip strip = strip_at(row, column, width);
    const int64_t bytes = strip.width * static_cast<int64_t>(sizeof(T));
    const int64_t most = std::min<int64_t>(64, kScratchBytes / bytes / 2);
    int64_t per_part = 1;
    while ((blocks_ + per_part - 1) / per_part > most) per_part *= 2;
    const int64_t count = (blocks_ + per_part - 1) / per_part;
    parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
      alignas(64) char scratch[kScratchBytes], tile[kTileBytes];
      for (int64_t p = first; p < last; ++p) {
        const T* part = cascade(strip, p * per_part, std::min(blocks_, (p + 1) * per_part),
                                reinterpret_cast<T*>(scratch), tile);
        std::copy_n(part, strip.width, reinterpret_cast<T*>(parts + p * bytes));
      }
    });
    alignas(64) char scratch[kScratchBytes];
    T* levels = reinterpret_cast<T*>(scratch);
    for (int64_t p = 0; p < count; ++p)
      push(levels, strip.width, p,
           [&](T* to) { std::copy_n(reinterpret_cast<T*>(parts + p * bytes), strip.width, to); });
    write(strip, finish(levels, strip.width, count));
  }

  // The result of blocks [first, last), at the head of `levels` or further in.
  T* cascade(const Strip& strip, int64_t first, int64_t last, T* levels, char* tile) const {
    for (int64_t b = first; b < last; ++b)
      push(levels, strip.width, b - first, [&](T* to) { accumulate(strip, b, to, tile); });
    return finish(levels, strip.width, last - first);
  }

  // Level d of the binary counter lies at levels + d * width. `make` writes the next block's
  // result.
  template <class Make>
  void push(T* levels, int64_t width, int64_t count, Make&& make) const {
    const int free = std::countr_one(static_cast<uint64_t>(count));
    T* to = levels + free * width;
    make(to);
    for (int d = 0; d < free; ++d) combine_below(levels + d * width, to, width);
  }
  T* finish(T* levels, int64_t width, int64_t count) const {
    int depth = std::countr_zero(static_cast<uint64_t>(count));
    T* value = levels + depth * width;
    for (++depth; (count >> depth) != 0; ++depth)
      if ((count >> depth) & 1) combine_below(levels + depth * width, value, width);
    return value;
  }
  // value = op(level, value); every operator here commutes.
  void combine_below(const T* level, T* value, int64_t width) const {
    fns_.rows(value, level, width, 1, width);
  }

  void accumulate(const Strip& strip, int64_t block, T* to, char* tile) const {
    std::fill_n(to, strip.width, reducer_.identity());
    int64_t at = block * kRowBlock, n = std::min(kRowBlock, shape_.num_reduced - at);
    const auto& reduced = shape_.reduced;
    const int64_t tile_rows = kTileBytes / static_cast<int64_t>(sizeof(T)) / strip.width;
    while (n > 0) {
      const char* from = strip.from;
      int64_t rest = at / reduced[0].size;
      const int64_t col = at % reduced[0].size;
      for (size_t d = 1; d < reduced.size(); ++d) {
        from += rest % reduced[d].size * reduced[d].in;
        rest /= reduced[d].size;
      }
      from += col * reduced[0].in;
      int64_t rows = std::min(n, reduced[0].size - col);
      if (is_plain_ && reduced[0].in % static_cast<int64_t>(sizeof(T)) == 0) {
        fns_.rows(to, reinterpret_cast<const T*>(from),
                  reduced[0].in / static_cast<int64_t>(sizeof(T)), rows, strip.width);
      } else {
        rows = std::min(rows, tile_rows);
        source_.load(from, Block{rows, strip.width, reduced[0].in, shape_.kept[0].in}, tile);
        fns_.rows(to, reinterpret_cast<const T*>(tile), strip.width, rows, strip.width);
      }
      at += rows;
      n -= rows;
    }
  }

  const Reducer& reducer_;
  ReduceFns<T> fns_;
  const ReduceShape& shape_;
  TileSource source_;
  const char* in_;
  char* const* out_;
  int64_t blocks_, inner_, rows_;
  int64_t levels_;
  bool is_plain_;
};

}  // namespace taeda::cpu
