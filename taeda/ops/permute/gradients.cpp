// Derivative helpers of permutations.
#include "taeda/ops/permute/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor permute_backward(const Tensor& grad, IntList dims) {
  const int64_t ndim = static_cast<int64_t>(dims.size());
  IntVec inverse(dims.size());
  for (int64_t i = 0; i < ndim; ++i) inverse[wrap_dim(dims[i], ndim)] = i;
  return grad.permute(inverse);
}

}  // namespace taeda::gradients
