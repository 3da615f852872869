// Derivative helpers of operators that index one dimension with a vector.
#include "taeda/ops/index_slices/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor index_select_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                             const Tensor& index) {
  return grad.new_zeros(sizes).index_add(dim, index, grad);
}

Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                             SymIntList sizes) {
  if (grad.dim() == 0) return grad.expand(sizes);
  const Tensor picked = grad.index_select(dim, index);
  return picked.sym_sizes() == sizes ? picked : picked.reshape(sizes);
}

Tensor index_fill_value_backward(const Tensor& grad, int64_t dim, const Tensor& index) {
  if (index.sym_numel() == SymInt(0)) return taeda::zeros({}, grad.dtype(), {}, grad.device());
  const SymInt size = grad.dim() == 0 ? SymInt(1) : grad.sym_size(dim);
  const Tensor indices[] = {index};
  // Ones at the filled positions; negative ones count from the end.
  const Tensor is_filled =
      grad.new_zeros({size}).index_put(indices, taeda::ones({}, grad.dtype(), {}, grad.device()));
  SymIntVec shape(static_cast<size_t>(grad.dim()), SymInt(1));
  if (grad.dim() > 0) shape[static_cast<size_t>(wrap_dim(dim, grad.dim()))] = size;
  return grad.masked_fill(is_filled.eq(Scalar(0)).view(shape), Scalar(0)).sum();
}

}  // namespace taeda::gradients
