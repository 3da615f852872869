// LoopNest: the iteration space of operands that broadcast to one shape, dimensions merged and
// ordered.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Up to eight operands; operand 0 is written. Strides are in bytes, innermost dimension first.
struct LoopNest {
  static constexpr int kMaxOperands = 8;
  int num_operands = 0;
  char* base[kMaxOperands];
  SmallVector<int64_t, 8> sizes;                  // innermost first; at least two entries
  SmallVector<int64_t, 8> strides[kMaxOperands];  // as sizes
  int64_t numel = 0;

  // Adds an operand whose sizes broadcast to `shape`.
  void add(const Tensor& t, IntList shape);
  // Orders dimensions by operand 0's strides and merges those that are contiguous for every
  // operand.
  void finish(IntList shape);
};

}  // namespace taeda::cpu
