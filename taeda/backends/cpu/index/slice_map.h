// SliceMap: slices of an indexed tensor, found by byte offsets, paired with the slices of a plain
// one.
//
// index, index_select, embedding read through it; index_put, index_add, index_copy and index_fill
// write.
#pragma once

#include <vector>

#include "taeda/backends/cpu/pointwise/loop_nest.h"

namespace taeda::cpu {

// Position p of the plain tensor's dimensions [place, place + index_ndim), in logical order,
// belongs to the slice of `indexed` (its dimensions `kept`) that starts offsets[p] bytes from its
// first element.
class SliceMap {
 public:
  SliceMap(const Tensor& plain, int64_t place, int64_t index_ndim, const Tensor& indexed,
           IntList kept, std::vector<int64_t> offsets);

  // plain = indexed slices.
  void read() const;
  // indexed slices = plain; of duplicates the last position stays.
  void write() const;
  // indexed slices += alpha * plain, in the order of positions whatever the threads.
  void add(const Scalar& alpha) const;

 private:
  struct Rows;
  void scatter(const Rows& ops, const void* alpha) const;
  void scatter_slices(const Rows& ops, const void* alpha, int64_t first, int64_t last) const;
  void scatter_range(const Rows& ops, const void* alpha, int64_t low, int64_t high) const;
  int64_t plain_at(int64_t p) const {
    return plain_offsets_.empty() ? p * plain_stride_ : plain_offsets_[p];
  }

  LoopNest nest_;  // the slice; operand 0 plain, operand 1 indexed
  std::vector<int64_t> offsets_, plain_offsets_;
  int64_t plain_stride_ = 0;
  DType dtype_;
};

}  // namespace taeda::cpu
