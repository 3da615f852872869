// Looks for a zero among the elements of a tensor, and for a difference between two.
#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/comparison_declarations.h"
#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/backends/cpu/pointwise/pointwise.h"

namespace taeda::cpu {

bool has_zero(const Tensor& t) {
  if (t.numel() == 0) return false;
  LoopNest nest;
  nest.add(t, t.sizes());
  nest.finish(t.sizes());
  const LoadFn truth = load_mask_fn(t.dtype());
  const int64_t cols = nest.sizes[0], rows = nest.numel / cols;
  char tile[4096];
  for (int64_t row = 0; row < rows; ++row) {
    const char* at = nest.base[0];
    int64_t rest = row;
    for (size_t d = 1; d < nest.sizes.size(); ++d) {
      at += rest % nest.sizes[d] * nest.strides[0][d];
      rest /= nest.sizes[d];
    }
    for (int64_t col = 0; col < cols; col += sizeof tile) {
      const int64_t n = std::min<int64_t>(cols - col, sizeof tile);
      truth(at + col * nest.strides[0][0], Block{1, n, 0, nest.strides[0][0]}, tile);
      if (std::memchr(tile, 0, static_cast<size_t>(n))) return true;
    }
  }
  return false;
}

bool equal(const Tensor& self, const Tensor& other) {
  TAEDA_CHECK(self.device() == other.device(),
              "Cannot compare two tensors on different devices. Got: ", self.device(), " and ",
              other.device());
  return self.sizes() == other.sizes() && !has_zero(self.eq(other));
}

}  // namespace taeda::cpu
