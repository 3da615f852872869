// Walks elements of a strided tensor in logical order, in runs along its last dimension.
#pragma once

#include <algorithm>

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// An alias that repeats `t` to `sizes` by strides of zero.
inline Tensor expanded_to(const Tensor& t, IntList sizes) {
  IntVec strides(sizes.size(), 0);
  TAEDA_CHECK(t.sizes().size() <= sizes.size(), "output with shape ", sizes,
              " doesn't match the broadcast shape ", t.sizes());
  const size_t lead = sizes.size() - t.sizes().size();
  for (size_t i = lead; i < sizes.size(); ++i) {
    const int64_t own = t.sizes()[i - lead];
    TAEDA_CHECK(own == sizes[i] || own == 1, "The size of tensor a (", sizes[i],
                ") must match the size of tensor b (", own, ") at non-singleton dimension ", i);
    if (own == sizes[i]) strides[i] = t.strides()[i - lead];
  }
  return make_alias(t, sizes, strides, t.storage_offset());
}

// Elements [first, first + count) in logical order: f(pointer, n, byte_stride, done) for each run.
template <class F>
void walk_logical(const Tensor& t, int64_t first, int64_t count, F&& f) {
  const int64_t item = t.element_size();
  char* const base = static_cast<char*>(t.data());
  if (t.is_contiguous() || t.dim() == 0) {
    f(base + first * item, count, item, int64_t{0});
    return;
  }
  const IntList sizes = t.sizes(), strides = t.strides();
  const int64_t last = t.dim() - 1, cols = sizes[last], step = strides[last] * item;
  for (int64_t done = 0; done < count;) {
    const int64_t index = first + done, n = std::min(cols - index % cols, count - done);
    int64_t at = 0, rest = index;
    for (int64_t d = last; d >= 0; --d) {
      at += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    f(base + at * item, n, step, done);
    done += n;
  }
}

}  // namespace taeda::cpu
