// Tensors whose elements are those of another one, or a constant, by a rule per dimension: borders
// of all kinds, and elements repeated.
#pragma once

#include "taeda/backends/cpu/window/volume.h"

namespace taeda::cpu {

// For each index of a result the index that it comes from, kOutside for the constant.
struct AxisMap {
  static constexpr int64_t kOutside = -1;
  std::vector<int64_t> from;
  int64_t in = 1;  // how many there are

  static AxisMap identity(int64_t n);
};

// Indices from -before on, those outside by the rule of a border.
AxisMap constant_border(int64_t in, int64_t before, int64_t out);
AxisMap reflected_border(int64_t in, int64_t before, int64_t out);
AxisMap replicated_border(int64_t in, int64_t before, int64_t out);

// Writes dense memory from dense memory, axes in the order of memory with `inner` elements of
// `item` bytes at each place; `value` is an element for what comes from outside.
void move_by_maps(const char* in, char* out, Span<AxisMap> axes, int64_t inner, int64_t item,
                  const char* value);

// The gradient: elements add up where they come from. Maps of depth, height and width.
void add_by_maps(const Tensor& grad, const AxisMap (&axes)[3], int64_t spatial, MemoryFormat format,
                 Tensor& out);
// The values themselves, of `self` in the same memory format.
void move_volume(const Tensor& self, const AxisMap (&axes)[3], int64_t spatial, MemoryFormat format,
                 Tensor& out);

}  // namespace taeda::cpu
