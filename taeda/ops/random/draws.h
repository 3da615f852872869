// What random operators draw: the same for the kernels of every device.
#pragma once

#include <limits>
#include <optional>

#include "taeda/core/tensor.h"
#include "taeda/ops/random/checks.h"

namespace taeda {

// Complex numbers are drawn as pairs of reals, along a last dimension of the result.
inline Tensor drawn_parts(const Tensor& self) {
  if (!self.is_complex()) return self;
  IntVec sizes(self.sizes()), strides(self.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor out = make_alias(self, sizes, strides, self.storage_offset() * 2);
  out.impl()->set_dtype(to_real(self.dtype()));
  return out;
}

// `count` integers from `first` on; all 2^64 of them are a count of 0.
struct IntegerRange {
  int64_t first;
  uint64_t count;

  static IntegerRange between(DType dtype, int64_t from, int64_t to) {
    check_range(dtype, from, to);
    narrow_range(dtype, from, to);
    return {from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from)};
  }
  // Up to the last one that the dtype holds, included, where no end is given.
  static IntegerRange from(DType dtype, int64_t from, std::optional<int64_t> to) {
    if (to) return between(dtype, from, *to);
    check_start(dtype, from);
    // From the least integer on, words are numbers as they are.
    if (from == std::numeric_limits<int64_t>::min()) return {0, 0};
    const int64_t last = last_integer(dtype);
    from = narrow_start(dtype, from);
    return {from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1};
  }
  static IntegerRange all(DType dtype) {
    return {0, static_cast<uint64_t>(last_integer(dtype)) + 1};
  }
};

}  // namespace taeda
