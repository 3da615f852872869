// Derivative helpers of Cholesky factors.
//
// With M = L^-1 dA L^-H, which is Hermitian, dL = L P(M), where P keeps what is below the diagonal
// and half of the diagonal. The adjoint of that map gives gA = L^-H H(L^H gL) L^-1, where H is half
// the lower triangle and its adjoint without the diagonal. Imaginary parts of that diagonal stay,
// as in PyTorch: no change of a Hermitian matrix meets them.
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/factorizations/gradients.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

Tensor lower_if(bool is_upper, const Tensor& t) { return is_upper ? taeda::adjoint(t) : t; }

Tensor with_half_diagonal(const Tensor& t) { return t.tril().add(t.tril(-1)).mul(Scalar(0.5)); }

}  // namespace

Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor l = lower_if(upper, factor), lh = taeda::adjoint(l);
  const Tensor inner = lh.matmul(lower_if(upper, grad));
  const Tensor hermitian = inner.tril().add(taeda::adjoint(inner.tril(-1))).mul(Scalar(0.5));
  const Tensor left = taeda::linalg_solve_triangular(lh, hermitian, /*upper=*/true);
  return taeda::linalg_solve_triangular(l, left, /*upper=*/false, /*left=*/false);
}

Tensor cholesky_forward(const Tensor& tangent, const Tensor& factor, bool upper) {
  const Tensor l = lower_if(upper, factor);
  const Tensor left = taeda::linalg_solve_triangular(l, tangent, /*upper=*/false);
  const Tensor inner =
      taeda::linalg_solve_triangular(taeda::adjoint(l), left, /*upper=*/true, /*left=*/false);
  return lower_if(upper, l.matmul(with_half_diagonal(inner)));
}

}  // namespace taeda::gradients
