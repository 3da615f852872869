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

// Calls each(offset, n, first channel) for all elements in any order.
template <class Each>
void everywhere(const ChannelLayout& m, Each&& each) {
  const bool is_row = m.inner == 1;
  const int64_t length = is_row ? m.channels : m.inner;
  const int64_t rows = is_row ? m.outer : m.outer * m.channels;
  parallel_for(0, rows, grain_of(length), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      for (int64_t i = 0; i < length; i += kChannelRun)
        each(r * length + i, std::min(kChannelRun, length - i), is_row ? i : r % m.channels);
  });
}

// A tensor of bytes, for its addresses.
Tensor bytes_of(IntList sizes);

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
