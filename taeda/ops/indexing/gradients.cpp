// Derivative helpers of advanced indexing, masks and take.
#include "taeda/ops/indexing/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/shape.h"

namespace taeda::gradients {
namespace {

Tensor zeros_of(SymIntList sizes, const Tensor& like) { return like.new_zeros(sizes); }

}  // namespace

Tensor index_backward(const Tensor& grad, SymIntList sizes, TensorList indices) {
  return zeros_of(sizes, grad).index_put(indices, grad, /*accumulate=*/true);
}

Tensor index_put_self_backward(const Tensor& grad, TensorList indices, bool accumulate) {
  return accumulate ? grad : grad.index_put(indices, zeros_of({}, grad));
}

Tensor index_put_values_backward(const Tensor& grad, TensorList indices, SymIntList sizes) {
  return sum_to(taeda::index(grad, indices), sizes);
}

Tensor take_backward(const Tensor& grad, SymIntList sizes, const Tensor& index) {
  SymInt numel = 1;
  for (const SymInt& s : sizes) numel *= s;
  const Tensor indices[] = {index};
  return zeros_of({numel}, grad).index_put(indices, grad, /*accumulate=*/true).view(sizes);
}

Tensor masked_select_backward(const Tensor& grad, SymIntList sizes, const Tensor& mask) {
  const SymIntVec shape = broadcast_shapes(sizes, mask.sym_sizes());
  const Tensor indices[] = {mask.expand(shape)};
  return sum_to(zeros_of(shape, grad).index_put(indices, grad), sizes);
}

}  // namespace taeda::gradients
