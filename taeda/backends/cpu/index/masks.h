// Positions of the true elements of masks.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::cpu {

// The true elements of a bool or uint8 mask in logical order, counted at construction.
class TrueElements {
 public:
  explicit TrueElements(const Tensor& mask);
  int64_t count() const { return starts_.back(); }
  // The byte offset of each into a tensor of the mask's shape with the given strides (elements).
  void offsets(IntList strides, int64_t item, int64_t* out) const;
  // The coordinates of each: out[rank * row_stride + d * column_stride].
  void coordinates(int64_t* out, int64_t row_stride, int64_t column_stride) const;

 private:
  // A run of the mask: the rank of its first true element, its first position, and the true ones in
  // it.
  struct Piece {
    int64_t rank, begin;
    const int32_t* places;
    int64_t count;
  };
  template <class F>
  void visit(F&& f) const;

  Tensor mask_;                  // contiguous bytes
  std::vector<int64_t> starts_;  // rank of each piece's first true element, then their number
};

}  // namespace taeda::cpu
