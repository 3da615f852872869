// Derivative helpers of sums that leave NaN out.
#include "taeda/ops/statistics/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/reduction/gradients.h"

namespace taeda::gradients {

Tensor nansum_backward(const Tensor& grad, const Tensor& self, std::optional<IntList> dim,
                       bool keepdim) {
  const Tensor spread = reduced_sum_backward(grad, self.sym_sizes(), self.dtype(), dim, keepdim);
  return spread.mul(self.isnan().logical_not());
}

Tensor nansum_forward(const Tensor& self, const Tensor& tangent, std::optional<IntList> dim,
                      bool keepdim, std::optional<DType> dtype) {
  return taeda::sum(tangent.masked_fill(self.isnan(), Scalar(0)), dim, keepdim, dtype);
}

}  // namespace taeda::gradients
