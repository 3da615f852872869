// LineWalk: tensors that run together except along one dimension, visited as bundles of
// neighbouring lines.
#pragma once

#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/base/function_ref.h"

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
  void run(FunctionRef<void(char* const*, int64_t)> f);
  int64_t line_stride(int k) const { return nest_.strides[k][0]; }

  int64_t length;
  int64_t dim_stride[LoopNest::kMaxOperands];

 private:
  IntVec shape_;
  int64_t dim_;
  LoopNest nest_;
};

}  // namespace taeda::cpu
