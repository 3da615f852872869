// Walks the results of a reduction in strips of lines, and the chunks of a strip.
#include "taeda/backends/cpu/reduce/reduce_driver.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "taeda/base/parallel.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kChunk = kernel::kReduceChunk;
// Elements worth a thread.
constexpr int64_t kGrain = 32768;
// Lanes of a column take 64 bytes. Columns that are read once go in strips as wide as a page, for
// the sake of the memory's prefetching, those that are read several times in strips that stay in
// the cache.
constexpr int64_t kMaxLines = kMaxReduceLines, kMaxPassLines = 256, kLaneBytes = 64;
constexpr int64_t kCacheBytes = 1 << 18, kTileBytes = 1 << 14;
// Columns of whole vectors in every instruction set.
constexpr int64_t kWhole = 64;

struct Scratch {
  alignas(64) char tile[kChunk * 16];
  alignas(64) char lanes[kMaxLines * kLaneBytes];
  alignas(64) char centers[kMaxPassLines * kLaneBytes], numbers[kMaxPassLines * kLaneBytes];
  alignas(64) char results[3][kMaxPassLines * 16];
  alignas(64) char states[kMaxLines * 16];
};

static_assert(sizeof(ComplexMomentState) * kMaxPassLines <= sizeof(Scratch::states));

// The cascade of Note [Reduction tree] for the lines of a strip at once; level d of the binary
// counter lies at d * lines states.
class StateCascade {
 public:
  StateCascade(const ReduceOp& op, int64_t lines, int64_t pushes)
      : op_(op),
        lines_(lines),
        bytes_(lines * op.state_item),
        levels_(new char[(std::bit_width(static_cast<uint64_t>(pushes)) + 1) * bytes_]) {}
  // make(to) writes the next states.
  template <class Make>
  void push(Make&& make) {
    const int free = std::countr_one(static_cast<uint64_t>(count_++));
    char* const to = levels_.get() + free * bytes_;
    make(to);
    for (int d = 0; d < free; ++d) op_.combine(levels_.get() + d * bytes_, to, to, lines_);
  }
  const char* finish() {
    int depth = std::countr_zero(static_cast<uint64_t>(count_));
    char* const value = levels_.get() + depth * bytes_;
    for (++depth; (count_ >> depth) != 0; ++depth)
      if ((count_ >> depth) & 1) op_.combine(levels_.get() + depth * bytes_, value, value, lines_);
    return value;
  }

 private:
  const ReduceOp& op_;
  int64_t lines_, bytes_, count_ = 0;
  std::unique_ptr<char[]> levels_;
};

// Where a pass leaves its results: the states themselves where it is the only one.
char* results_of(const ReduceOp& op, int pass, Scratch& scratch, char* states) {
  return op.state ? scratch.results[pass] : states;
}
void make_states(const ReduceOp& op, int64_t first, int64_t n, int64_t lines, Scratch& scratch,
                 char* states) {
  if (!op.state) return;
  const void* const results[] = {scratch.results[0], scratch.results[1], scratch.results[2]};
  op.state(results, scratch.centers, n, first, lines, states);
}

// Contiguous lines of elements first .. first + n, in as many passes as the reduction has.
void run_lines(const ReduceOp& op, const char* p, int64_t pitch, int64_t lines, int64_t first,
               int64_t n, Scratch& scratch, char* states) {
  for (int k = 0; k < op.num_passes; ++k) {
    if (k == 1 && op.later_lines) {
      void* const results[] = {scratch.results[0], scratch.results[1], scratch.results[2]};
      op.later_lines(p, pitch, lines, n, scratch.centers, results);
      break;
    }
    char* const results = results_of(op, k, scratch, states);
    op.passes[k].lines(p, pitch, lines, n, scratch.centers, results);
    if (k == 0 && op.center) op.center(results, n, lines, scratch.centers);
  }
  make_states(op, first, n, lines, scratch, states);
}

// Neighbouring results.
struct Strip {
  const char* from;
  ReduceOutputs to;
  int64_t lines;
};

class Reduction {
 public:
  Reduction(const ReduceOp& op, const ReduceShape& shape, TileSource source, const char* in,
            char* const* out, FinishFn finish)
      : op_(op), shape_(shape), source_(source), in_(in), out_(out), finish_(finish) {
    chunks_ = std::max<int64_t>(1, (shape.num_reduced + kChunk - 1) / kChunk);
    inner_ = shape.kept.empty() ? 1 : shape.kept[0].size;
    line_stride_ = shape.kept.empty() ? 0 : shape.kept[0].in;
    has_columns_ = shape.is_kept_inner();
    is_contiguous_ = source.is_direct && (shape.reduced[0].in == op.item || shape.num_reduced <= 1);
    if (!has_columns_ && shape.is_turned())
      group_ = std::clamp<int64_t>(64 * shape.reduced[0].size / kChunk, 1, 64);
  }

  void run() const {
    const int64_t n = shape_.num_reduced, rows = shape_.num_outputs / inner_;
    const int64_t lines = strip_lines(rows), strips = (inner_ + lines - 1) / lines;
    const int64_t tasks = rows * strips, cost = std::max<int64_t>(1, lines * n);
    if (tasks < num_threads() && chunks_ > 1 && cost > 4 * kGrain) {
      for (int64_t s = 0; s < tasks; ++s)
        run_split(strip_at(s / strips, s % strips * lines, lines));
      return;
    }
    parallel_for(0, tasks, std::max<int64_t>(1, kGrain / cost), [&](int64_t first, int64_t last) {
      Scratch scratch;
      for (int64_t s = first; s < last; ++s) {
        const Strip strip = strip_at(s / strips, s % strips * lines, lines);
        reduce(strip, 0, chunks_, scratch,
               [&](const char* states) { finish_(states, strip.lines, strip.to); });
      }
    });
  }

 private:
  // Lines per strip: many where that shares work, few where they would leave the cache or threads
  // without work.
  int64_t strip_lines(int64_t rows) const {
    const int64_t n = std::max<int64_t>(1, std::min(shape_.num_reduced, kChunk));
    if (!has_columns_) {
      const int64_t share = (inner_ * rows + 2 * num_threads() - 1) / (2 * num_threads());
      return std::clamp<int64_t>(std::min(kChunk / n, share), 1, std::min(inner_, kMaxPassLines));
    }
    int64_t lines = std::min<int64_t>(kMaxLines, 4096 / op_.item);
    if (op_.num_passes > 1)
      lines = std::clamp<int64_t>(kCacheBytes / (n * op_.item) / 16 * 16, 16, kMaxPassLines);
    // Narrower strips where threads would have nothing to do, but whole cache lines.
    if (rows * ((inner_ + lines - 1) / lines) < 2 * num_threads())
      lines = std::min(lines, std::max<int64_t>(64, (inner_ / (2 * num_threads()) + 15) / 16 * 16));
    return std::min(lines, inner_);
  }

  Strip strip_at(int64_t row, int64_t first, int64_t lines) const {
    Strip s;
    s.from = shape_.output_at(in_, out_, row * inner_ + first, s.to.at);
    for (int k = 0; k < 2; ++k) s.to.stride[k] = shape_.kept.empty() ? 0 : shape_.kept[0].out[k];
    s.lines = std::min(lines, inner_ - first);
    return s;
  }

  // Calls done(states) with those of chunks [first, last).
  template <class Done>
  void reduce(const Strip& strip, int64_t first, int64_t last, Scratch& scratch,
              Done&& done) const {
    if (last - first == 1) {
      reduce_chunk(strip, first, scratch, scratch.states);
      return done(scratch.states);
    }
    StateCascade cascade(op_, strip.lines, last - first);
    if (group_ > 1) {
      reduce_groups(strip, first, last, scratch, cascade);
    } else {
      for (int64_t c = first; c < last; ++c)
        cascade.push([&](char* to) { reduce_chunk(strip, c, scratch, to); });
    }
    done(cascade.finish());
  }

  // Several chunks of one line come into a tile at once, where memory has them side by side.
  void reduce_groups(const Strip& strip, int64_t first, int64_t last, Scratch& scratch,
                     StateCascade& cascade) const {
    const std::unique_ptr<char[]> tile(new char[group_ * kChunk * op_.item]);
    for (int64_t g = first; g < last; g += group_) {
      const int64_t begin = g * kChunk;
      const int64_t end = std::min(shape_.num_reduced, std::min(last, g + group_) * kChunk);
      shape_.fill(source_, strip.from, begin, end - begin, tile.get(), op_.item);
      for (int64_t at = begin; at < end; at += kChunk)
        cascade.push([&](char* to) {
          run_lines(op_, tile.get() + (at - begin) * op_.item, 0, 1, at, std::min(kChunk, end - at),
                    scratch, to);
        });
    }
  }

  // One strip by all threads. Each takes whole subtrees of the cascade, so that the result is that
  // of one thread.
  void run_split(const Strip& strip) const {
    constexpr int64_t kMaxParts = 128;
    int64_t per_part = 1;
    while ((chunks_ + per_part - 1) / per_part > kMaxParts) per_part *= 2;
    const int64_t count = (chunks_ + per_part - 1) / per_part, bytes = strip.lines * op_.state_item;
    const std::unique_ptr<char[]> parts(new char[count * bytes]);
    parallel_for(0, count, std::max<int64_t>(1, kGrain / (per_part * kChunk * strip.lines)),
                 [&](int64_t first, int64_t last) {
                   Scratch scratch;
                   for (int64_t p = first; p < last; ++p)
                     reduce(strip, p * per_part, std::min(chunks_, (p + 1) * per_part), scratch,
                            [&](const char* states) {
                              std::copy_n(states, bytes, parts.get() + p * bytes);
                            });
                 });
    StateCascade cascade(op_, strip.lines, count);
    for (int64_t p = 0; p < count; ++p)
      cascade.push([&](char* to) { std::copy_n(parts.get() + p * bytes, bytes, to); });
    finish_(cascade.finish(), strip.lines, strip.to);
  }

  // The states of one chunk, in as many passes as the reduction has.
  void reduce_chunk(const Strip& strip, int64_t chunk, Scratch& scratch, char* states) const {
    const int64_t first = chunk * kChunk, n = std::min(kChunk, shape_.num_reduced - first);
    if (has_columns_)
      column_passes(strip, first, n, scratch, states);
    else
      line_passes(strip, first, n, scratch, states);
  }

  // ---- lines ----
  void line_passes(const Strip& strip, int64_t first, int64_t n, Scratch& scratch,
                   char* states) const {
    const auto& reduced = shape_.reduced;
    const int64_t col = first % std::max<int64_t>(reduced[0].size, 1);
    if (is_contiguous_ && (reduced.size() == 1 || col + n <= reduced[0].size)) {
      int64_t rows;
      const char* const from = n > 0 ? rows_at(strip.from, first, n, &rows) : strip.from;
      return run_lines(op_, from, line_stride_ / op_.item, strip.lines, first, n, scratch, states);
    }
    const int64_t lines = std::max<int64_t>(1, kChunk / std::max<int64_t>(n, 1));
    for (int64_t l = 0; l < strip.lines; l += lines) {
      const int64_t count = std::min(lines, strip.lines - l);
      fill_lines(strip.from + l * line_stride_, count, first, n, scratch.tile);
      run_lines(op_, scratch.tile, n, count, first, n, scratch, states + l * op_.state_item);
    }
  }

  void fill_lines(const char* from, int64_t count, int64_t first, int64_t n, char* tile) const {
    if (shape_.reduced.size() == 1) {
      const int64_t step = shape_.reduced[0].in;
      if (n > 0) source_.load(from + first * step, Block{count, n, line_stride_, step}, tile);
      return;
    }
    for (int64_t l = 0; l < count; ++l)
      shape_.fill(source_, from + l * line_stride_, first, n, tile + l * n * op_.item, op_.item);
  }

  // ---- columns ----
  void column_passes(const Strip& strip, int64_t first, int64_t n, Scratch& scratch,
                     char* states) const {
    const int64_t width = strip.lines;
    if (op_.number) op_.number(scratch.numbers, width);
    for (int k = 0; k < op_.num_passes; ++k) {
      fold(op_.passes[k], strip, first, n, scratch);
      close(op_.passes[k], width, n, scratch.lanes);
      char* const results = results_of(op_, k, scratch, states);
      std::copy_n(scratch.lanes, width * op_.item, results);
      if (k == 0 && op_.center) {
        op_.center(results, n, width, scratch.centers);
        repeat(scratch.centers, width, n);
      }
    }
    make_states(op_, first, n, width, scratch, states);
  }

  // The lanes of each column as a tree; lanes without elements hold nothing.
  void close(const ReducePass& pass, int64_t width, int64_t n, char* lanes) const {
    int64_t used = std::min(n, kLaneBytes / op_.item);
    for (int64_t half = kLaneBytes / op_.item / 2; half > 0; half /= 2) {
      if (used > half)
        pass.combine(lanes, lanes + half * width * op_.item, lanes, (used - half) * width);
      used = std::min(used, half);
    }
  }

  // The centers of the columns for each lane.
  void repeat(char* centers, int64_t width, int64_t n) const {
    const int64_t bytes = width * op_.item;
    for (int64_t l = 1; l < std::min(n, kLaneBytes / op_.item); ++l)
      std::copy_n(centers, bytes, centers + l * bytes);
  }

  void fold(const ReducePass& pass, const Strip& strip, int64_t first, int64_t n,
            Scratch& scratch) const {
    const int64_t width = strip.lines, item = op_.item;
    const auto& reduced = shape_.reduced;
    const bool is_bfloat16 = source_.is_bfloat16 && pass.fold_bfloat16;
    const int64_t stored = is_bfloat16 ? 2 : item;
    const bool is_direct =
        (source_.is_direct || is_bfloat16) && line_stride_ == stored &&
        (width * item % kWhole == 0 || (reduced.size() == 1 && reduced[0].in == width * stored));
    const auto fold_direct = is_bfloat16 ? pass.fold_bfloat16 : pass.fold;
    // Tiles hold rows of all lanes where they can, so that they have no gaps.
    const int64_t lanes = kLaneBytes / item;
    int64_t tile_rows = kTileBytes / item / width;
    if (tile_rows > lanes) tile_rows -= tile_rows % lanes;
    for (int64_t done = 0; done < n;) {
      if (is_direct) {
        int64_t rows;
        const char* const from = rows_at(strip.from, first + done, n - done, &rows);
        fold_direct(scratch.lanes, from, reduced[0].in / stored, done, rows, width, scratch.centers,
                    scratch.numbers);
        done += rows;
        continue;
      }
      const int64_t want = std::min(tile_rows, n - done);
      for (int64_t filled = 0; filled < want;) {
        int64_t rows;
        const char* const from = rows_at(strip.from, first + done + filled, want - filled, &rows);
        source_.load(from, Block{rows, width, reduced[0].in, line_stride_},
                     scratch.tile + filled * width * item);
        filled += rows;
      }
      pass.fold(scratch.lanes, scratch.tile, width, done, want, width, scratch.centers,
                scratch.numbers);
      done += want;
    }
  }

  // Where row `index` of the reduced space starts; *rows: how many follow it at one stride.
  const char* rows_at(const char* from, int64_t index, int64_t most, int64_t* rows) const {
    const auto& reduced = shape_.reduced;
    const int64_t col = index % reduced[0].size;
    int64_t rest = index / reduced[0].size;
    for (size_t d = 1; d < reduced.size(); ++d) {
      from += rest % reduced[d].size * reduced[d].in;
      rest /= reduced[d].size;
    }
    *rows = std::min(most, reduced[0].size - col);
    return from + col * reduced[0].in;
  }

  const ReduceOp& op_;
  const ReduceShape& shape_;
  TileSource source_;
  const char* in_;
  char* const* out_;
  FinishFn finish_;
  int64_t chunks_, inner_, line_stride_, group_ = 1;
  bool has_columns_, is_contiguous_;
};

}  // namespace

void reduce_plain_lines(const ReduceOp& op, const void* p, int64_t lines, int64_t n, void* states) {
  Scratch scratch;
  const char* const from = static_cast<const char*>(p);
  if (n <= kChunk) return run_lines(op, from, n, lines, 0, n, scratch, static_cast<char*>(states));
  StateCascade cascade(op, lines, (n + kChunk - 1) / kChunk);
  for (int64_t first = 0; first < n; first += kChunk)
    cascade.push([&](char* to) {
      run_lines(op, from + first * op.item, n, lines, first, std::min(kChunk, n - first), scratch,
                to);
    });
  std::copy_n(cascade.finish(), lines * op.state_item, static_cast<char*>(states));
}

void run_reduction(const ReduceOp& op, TileSource source, const Tensor& self, uint64_t bits,
                   bool keepdim, Span<const Tensor*> outs, FinishFn finish) {
  char* const out[2] = {static_cast<char*>(outs[0]->data()),
                        outs.size() > 1 ? static_cast<char*>(outs[1]->data()) : nullptr};
  const char* const in = static_cast<const char*>(self.data());
  // Short runs over plain memory need no iteration space.
  const int64_t n = self.numel();
  if (source.is_direct && n <= kChunk && outs[0]->numel() == 1 && self.is_contiguous()) {
    Scratch scratch;
    run_lines(op, in, 0, 1, 0, n, scratch, scratch.states);
    return finish(scratch.states, 1, ReduceOutputs{{out[0], out[1]}, {0, 0}});
  }
  const ReduceShape shape(self, bits, keepdim, outs);
  if (shape.num_outputs == 0) return;
  Reduction(op, shape, source, in, out, finish).run();
}

}  // namespace taeda::cpu
