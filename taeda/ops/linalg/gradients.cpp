// Derivative helpers of matrix products.
#include "taeda/ops/linalg/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

// Every dimension but the last folded into one.
Tensor rows_of(const Tensor& t) {
  if (t.dim() == 2) return t;
  SymInt rows = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) rows *= t.sym_size(d);
  return t.reshape({rows, t.sym_size(-1)});
}

}  // namespace

Tensor scaled(const Tensor& grad, const Scalar& s) {
  return s.equals(1) ? grad : grad.mul(s.conj());
}

Tensor batched_self_backward(const Tensor& grad, const Tensor& other, SymIntList self_sizes) {
  if (self_sizes.size() != 2) return sum_to(_batched_matmul(grad, adjoint(other)), self_sizes);
  // [..., m, n] and [..., k, n] to [m, ... n] and [... n, k].
  return rows_of(grad.transpose(-2, -1))
      .transpose(0, 1)
      .mm(rows_of(other.transpose(-2, -1)).conj());
}

Tensor batched_other_backward(const Tensor& grad, const Tensor& self, SymIntList other_sizes) {
  if (other_sizes.size() == 2) return adjoint(rows_of(self)).mm(rows_of(grad));
  return sum_to(_batched_matmul(adjoint(self), grad), other_sizes);
}

Tensor linear_input_backward(const Tensor& grad, const Tensor& weight) {
  if (weight.dim() == 1) return grad.unsqueeze(-1).mul(weight.conj());
  return grad.matmul(weight.conj());
}

Tensor linear_weight_backward(const Tensor& grad, const Tensor& input, int64_t weight_dim) {
  if (weight_dim == 1)
    return input.dim() == 1 ? input.conj().mul(grad)
                            : adjoint(rows_of(input)).mv(grad.reshape({SymInt(-1)}));
  if (input.dim() == 1) return taeda::outer(grad, input.conj());
  return rows_of(grad).transpose(0, 1).mm(rows_of(input).conj());
}

}  // namespace taeda::gradients
