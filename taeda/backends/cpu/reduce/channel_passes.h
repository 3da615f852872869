// Passes over elements with numbers per channel, in compute type, as they lie in memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/base/parallel.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Memory as outer x channels x inner elements; channels that lie innermost have inner = 1.
struct ChannelLayout {
  int64_t outer = 1, channels, inner = 1;
  explicit ChannelLayout(const Tensor& t) : channels(t.size(1)) {
    outer = t.size(0);
    for (int64_t d = 2; d < t.dim(); ++d) inner *= t.size(d);
    if (!t.is_contiguous()) outer *= std::exchange(inner, 1);
  }
  int64_t count() const { return outer * inner; }
};

// `t` with the strides of `like`, which is dense.
Tensor in_order_of(const Tensor& t, const Tensor& like);

using Numbers = std::vector<double>;

// The elements of `t`, whose last stride leads to all of them; `otherwise` where there is no
// tensor.
Numbers numbers(const Tensor& t, int64_t n, double otherwise);
// Writes to a contiguous tensor.
void put_numbers(const Numbers& from, const Tensor& to);

template <class T>
std::vector<T> in_type(const Numbers& from) {
  return std::vector<T>(from.begin(), from.end());
}

// Runs of elements as they lie in memory: of one channel, or of neighbouring ones.
constexpr int64_t kChannelRun = 1024;

inline int64_t grain_of(int64_t cost) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(cost, 1));
}

// Neighbouring channels.
struct ChannelRange {
  int64_t first, last;
  int64_t count() const { return last - first; }
};

// The dimensions behind examples and channels.
inline uint64_t behind_two(const Tensor& t) {
  return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{3};
}

// The elements of some channels of a tensor (examples, channels, ...).
Tensor channels_of(const Tensor& t, ChannelRange range);

// Calls each(range) for ranges that cover all channels, so that several passes over one range find
// its elements in the cache. Each range is one thread's where they are enough for all threads.
template <class Each>
void by_channel_range(const ChannelLayout& m, Each&& each) {
  constexpr int64_t kElements = 1 << 15;
  const int64_t share = std::max<int64_t>(1, m.channels / (4 * num_threads()));
  const int64_t width = std::clamp<int64_t>(kElements / std::max<int64_t>(m.count(), 1), 1, share);
  const int64_t ranges = (m.channels + width - 1) / width;
  if (m.inner == 1 || m.count() * m.channels < kElements || ranges < num_threads())
    return each(ChannelRange{0, m.channels});
  parallel_for(0, ranges, 1, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      each(ChannelRange{r * width, std::min(m.channels, (r + 1) * width)});
  });
}

// Calls each(offset, n, first channel) for all elements of a range in any order. Where channels lie
// innermost the range is all of them.
template <class Each>
void everywhere(const ChannelLayout& m, ChannelRange range, Each&& each) {
  const bool is_row = m.inner == 1;
  const int64_t length = is_row ? m.channels : m.inner;
  const int64_t width = is_row ? 1 : range.count();
  parallel_for(0, m.outer * width, grain_of(length), [&](int64_t begin, int64_t end) {
    int64_t outer = begin / width, c = begin % width;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = is_row ? r : outer * m.channels + range.first + c;
      for (int64_t i = 0; i < length; i += kChannelRun)
        each(row * length + i, std::min(kChannelRun, length - i), is_row ? i : range.first + c);
      if (++c == width) {
        c = 0;
        ++outer;
      }
    }
  });
}

// A tensor of bytes, for its addresses.
Tensor bytes_of(IntList sizes);

// Reads two tensors of the same dense strides by blocks of the first one's memory, in runs of a
// compute type, in place where memory has it.
template <class T>
class RunPairs {
 public:
  RunPairs(const Tensor& a, const Tensor& b)
      : a_(a),
        b_(b),
        load_a_(load_fn(a.dtype(), compute_type(DTypeOf<T>::value))),
        load_b_(load_fn(b.dtype(), compute_type(DTypeOf<T>::value))),
        base_a_(static_cast<const char*>(a.data())),
        base_b_(static_cast<const char*>(b.data())),
        item_a_(a.element_size()),
        item_b_(b.element_size()) {}

  // The block's distances between neighbours and between rows, in elements.
  int64_t step_of(const Block& block) const { return block.col_stride / item_a_; }
  int64_t row_step_of(const Block& block) const { return block.row_stride / item_a_; }

  // Calls each(a, b, n, start of the row, first column) for the runs of a block, row by row.
  template <class Each>
  void for_runs(const char* memory, const Block& block, Each&& each) const {
    alignas(64) T from_a[kChannelRun], from_b[kChannelRun];
    const int64_t step = step_of(block), row_step = row_step_of(block);
    int64_t row = (memory - base_a_) / item_a_;
    for (int64_t r = 0; r < block.rows; ++r, row += row_step)
      for (int64_t c = 0; c < block.cols; c += kChannelRun) {
        const int64_t n = std::min(kChannelRun, block.cols - c), at = row + c * step;
        if (step == 1) {
          each(a_.get(at, n, from_a), b_.get(at, n, from_b), n, row, c);
          continue;
        }
        load_a_(base_a_ + at * item_a_, Block{1, n, 0, step * item_a_},
                reinterpret_cast<char*>(from_a));
        load_b_(base_b_ + at * item_b_, Block{1, n, 0, step * item_b_},
                reinterpret_cast<char*>(from_b));
        each(from_a, from_b, n, row, c);
      }
  }

 private:
  RunReader<T> a_, b_;
  LoadFn load_a_, load_b_;
  const char *base_a_, *base_b_;
  int64_t item_a_, item_b_;
};

// A number per kept place of `x` from its state: value(place, state), where places are counted in
// row-major order of the dimensions outside `reduced`.
template <class State, class Value>
void by_place(ReduceKind kind, ComputeType compute, TileSource source, const Tensor& x,
              uint64_t reduced, Value&& value) {
  IntVec kept;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (!(reduced >> d & 1)) kept.push_back(x.size(d));
  // Where results go tells the place.
  const Tensor places = bytes_of(IntList(kept));
  char* const base = static_cast<char*>(places.data());
  const Tensor* const outs[] = {&places};
  run_reduction(reduce_op(kind, compute), source, x, reduced, false, outs,
                [&](const char* states, int64_t lines, const ReduceOutputs& to) {
                  for (int64_t l = 0; l < lines; ++l)
                    value(to.at[0] - base + l * to.stride[0],
                          reinterpret_cast<const State*>(states)[l]);
                });
}

}  // namespace taeda::cpu
