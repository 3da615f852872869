// Derivative helpers of operators that index one dimension with a vector.
#include "taeda/autograd/index_slices_formulas.h"

#include "taeda/ops/functions.h"

namespace taeda::autograd {

Tensor index_select_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index) {
  return taeda::zeros(as_symint(sizes), grad.dtype(), {}, grad.device())
      .index_add(dim, index, grad);
}

Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntList sizes) {
  if (grad.dim() == 0) return grad.expand(as_symint(sizes));
  const Tensor picked = grad.index_select(dim, index);
  return picked.sizes() == sizes ? picked : picked.reshape(as_symint(sizes));
}

}  // namespace taeda::autograd
