// Derivative helpers of outer products, cross products and traces.
#include "taeda/ops/matrix_forms/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/matrix_forms/functions.h"

namespace taeda::gradients {

Tensor addr_self_backward(const Tensor& grad, const Scalar& beta, SymIntList sizes) {
  return sum_to(grad * beta.conj(), sizes);
}
Tensor addr_vec1_backward(const Tensor& grad, const Tensor& vec2, const Scalar& alpha) {
  return grad.mv(vec2.conj()) * alpha.conj();
}
Tensor addr_vec2_backward(const Tensor& grad, const Tensor& vec1, const Scalar& alpha) {
  return grad.t().mv(vec1.conj()) * alpha.conj();
}

Tensor addr_forward(const Tensor& self_tangent, const Tensor& vec1, const Tensor& vec1_tangent,
                    const Tensor& vec2, const Tensor& vec2_tangent, const Scalar& beta,
                    const Scalar& alpha) {
  return self_tangent * beta + (vec1_tangent.outer(vec2) + vec1.outer(vec2_tangent)) * alpha;
}

Tensor linalg_cross_backward(const Tensor& left, const Tensor& right, SymIntList sizes,
                             int64_t dim) {
  return sum_to(taeda::linalg_cross(left, right, dim), sizes);
}

Tensor trace_backward(const Tensor& grad, SymIntList sizes) {
  TAEDA_CHECK(sizes.size() == 2, "expected matrix input");
  const Tensor zeros = grad.new_zeros(sizes);
  const Tensor diagonal = zeros.diagonal();
  return zeros.diagonal_scatter(grad.expand(diagonal.sym_sizes()));
}

}  // namespace taeda::gradients
