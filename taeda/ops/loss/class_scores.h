// Where scores of classes and their targets stand in memory, and what a gradient's shape may be:
// the same for the kernels of every device.
#pragma once

#include "taeda/base/error.h"
#include "taeda/core/tensor.h"
#include "taeda/ops/loss/reduction.h"

namespace taeda {

// The class dimension, and the strides of the scores over the targets' positions.
struct ClassScores {
  int64_t classes, step;
  IntVec strides;

  ClassScores(const Tensor& scores, const Tensor& target) {
    const int64_t dim = scores.dim() == 1 ? 0 : 1;
    classes = scores.sizes()[dim];
    step = scores.strides()[dim];
    for (int64_t d = 0; d < scores.dim(); ++d)
      if (d != dim) strides.push_back(scores.strides()[d]);
    strides.resize(static_cast<size_t>(target.dim()));
  }
};

// Strides of a tensor that has an element per target, or one for all.
inline IntVec target_strides(const Tensor& t, const Tensor& target) {
  IntVec strides(static_cast<size_t>(target.dim()), 0);
  for (int64_t d = 0; d < t.dim(); ++d) strides[d] = t.strides()[d];
  return strides;
}

[[noreturn]] inline void refuse_target(int64_t target) {
  fail(ErrorKind::Index, "Target ", target, " is out of bounds.");
}

inline void check_nll_gradient(const Tensor& grad_output, const Tensor& target, int64_t reduction) {
  TAEDA_CHECK(
      grad_output.dim() == 0 || (reduction == impl::kNone && grad_output.numel() == target.numel()),
      "nll_loss_backward: a gradient of shape ", grad_output.sizes(), " for targets of shape ",
      target.sizes());
}

}  // namespace taeda
