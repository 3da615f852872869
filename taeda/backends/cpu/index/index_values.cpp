// Bounds checks of index tensors: one quick pass that looks for any bad value, a slow one that
// names it.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/index/index_values.h"

#include <atomic>

#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kIndexGrain = 1 << 16;

bool has_outside(const int64_t* p, int64_t n, int64_t stride, int64_t low, uint64_t width) {
  uint64_t bad = 0;
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint64_t>(p[i] - low) >= width;
  else
    for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint64_t>(p[i * stride] - low) >= width;
  return bad;
}

bool any_outside(const Tensor& index, int64_t low, uint64_t width) {
  LoopNest nest;
  nest.add(index, index.sizes());
  nest.finish(index.sizes());
  const int64_t cols = nest.sizes[0],
                step = nest.strides[0][0] / static_cast<int64_t>(sizeof(int64_t));
  std::atomic<bool> is_bad{false};
  parallel_for(0, nest.numel, kIndexGrain, [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t col = first % cols, n = std::min(cols - col, last - first);
      const char* at = nest.base[0] + col * nest.strides[0][0];
      int64_t rest = first / cols;
      for (size_t d = 1; d < nest.sizes.size(); rest /= nest.sizes[d], ++d)
        at += rest % nest.sizes[d] * nest.strides[0][d];
      if (has_outside(reinterpret_cast<const int64_t*>(at), n, step, low, width))
        is_bad.store(true, std::memory_order_relaxed);
      first += n;
    }
  });
  return is_bad.load();
}

}  // namespace

Tensor int64_index(const Tensor& index) {
  return index.dtype() == DType::Int64 ? index : index.to(DType::Int64);
}

std::optional<int64_t> first_outside(const Tensor& index, int64_t low, int64_t high) {
  if (index.numel() == 0) return std::nullopt;
  const uint64_t width = high > low ? static_cast<uint64_t>(high - low) : 0;
  if (!any_outside(index, low, width)) return std::nullopt;
  const auto* data = static_cast<const int64_t*>(index.data());
  for (int64_t i = 0; i < index.numel(); ++i) {
    int64_t rest = i, at = 0;
    for (int64_t d = index.dim() - 1; d >= 0; --d) {
      at += rest % index.sizes()[d] * index.strides()[d];
      rest /= index.sizes()[d];
    }
    if (data[at] < low || data[at] >= high) return data[at];
  }
  return std::nullopt;
}

void check_index_bounds(const Tensor& index, int64_t dim, int64_t size) {
  if (const auto bad = first_outside(index, 0, size))
    fail(ErrorKind::Runtime, "index ", *bad, " is out of bounds for dimension ", dim, " with size ",
         size);
}

}  // namespace taeda::cpu
