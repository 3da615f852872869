// LineWalk: tensors that run together except along one dimension, visited as bundles of
// neighbouring lines.
#pragma once

#include <algorithm>

#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {

// Operands may be larger than `shape`; a zero-dim operand broadcasts. Threads get whole lines, so a
// line is processed in order.
class LineWalk {
 public:
  LineWalk(IntList shape, int64_t dim) : shape_(shape), dim_(dim) {
    if (shape_.empty()) shape_.push_back(1);
    length = shape_[dim];
    shape_[dim] = 1;
  }
  void add(const Tensor& t) {
    dim_stride[nest_.num_operands] = t.dim() == 0 ? 0 : t.strides()[dim_] * t.element_size();
    nest_.add(t, shape_);
  }
  // f(char* const* at, int64_t lines): line j of operand k starts at at[k] + j * line_stride(k).
  template <class F>
  void run(F&& f) {
    nest_.finish(shape_);
    if (nest_.numel == 0 || length == 0) return;
    const int64_t cols = nest_.sizes[0];
    parallel_for(0, nest_.numel, std::max<int64_t>(1, 32768 / length),
                 [&](int64_t first, int64_t last) {
                   while (first < last) {
                     const int64_t col = first % cols, lines = std::min(cols - col, last - first);
                     char* at[LoopNest::kMaxOperands];
                     for (int k = 0; k < nest_.num_operands; ++k) {
                       at[k] = nest_.base[k] + col * nest_.strides[k][0];
                       int64_t rest = first / cols;
                       for (size_t d = 1; d < nest_.sizes.size(); rest /= nest_.sizes[d], ++d)
                         at[k] += rest % nest_.sizes[d] * nest_.strides[k][d];
                     }
                     f(at, lines);
                     first += lines;
                   }
                 });
  }
  int64_t line_stride(int k) const { return nest_.strides[k][0]; }

  int64_t length;
  int64_t dim_stride[LoopNest::kMaxOperands];

 private:
  IntVec shape_;
  int64_t dim_;
  LoopNest nest_;
};

}  // namespace taeda::cpu
