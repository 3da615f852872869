// Derivative helpers of determinants and inverses.
#include <limits>

#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/factorizations/gradients.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {
namespace {

double smallest_step(DType dtype) {
  return to_real(dtype) == DType::Float ? std::numeric_limits<float>::epsilon()
                                        : std::numeric_limits<double>::epsilon();
}

// The gradient is the adjugate, det(A) * A^-1, which is continuous: for a singular matrix it is
// taken of one beside it, whose U has no zeros on its diagonal.
struct Regular {
  Tensor factors, det;

  Regular(const Tensor& packed, const Tensor& pivots, const Tensor& of_matrix) {
    const Tensor diagonal = packed.diagonal(0, -2, -1);
    const Tensor is_zero = diagonal.eq(Scalar(0));
    const Tensor largest = diagonal.abs().amax(IntList{-1}, /*keepdim=*/true);
    const Tensor scale = largest.masked_fill(largest.eq(Scalar(0)), Scalar(1));
    const Tensor steps = is_zero.mul(scale).mul(Scalar(smallest_step(packed.dtype())));
    const Tensor moved = steps.to(packed.dtype());
    factors = packed.add(taeda::diag_embed(moved));
    const Tensor product = diagonal.add(moved).prod(-1).mul(parity_of(pivots, packed.dtype()));
    det = taeda::where(is_zero.any(-1), product, of_matrix);
  }
};

// A number per matrix as a multiple of the identity.
Tensor multiples(const Tensor& numbers, const Tensor& like) {
  return taeda::diag_embed(numbers.unsqueeze(-1).expand(like.sym_sizes()));
}

}  // namespace

Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& det, const Tensor& factors,
                    const Tensor& pivots, bool may_be_differentiated) {
  if (!grad.defined()) return {};
  if (A.sym_size(-1) == SymInt(0)) return taeda::zeros_like(A);
  if (may_be_differentiated)
    return std::get<0>(
        taeda::linalg_solve_ex(taeda::adjoint(A), multiples(grad.mul(det.conj()), pivots)));
  const Regular regular(factors, pivots, det);
  return taeda::linalg_lu_solve(regular.factors, pivots,
                                multiples(grad.mul(regular.det.conj()), pivots), /*left=*/true,
                                /*adjoint=*/true);
}

Tensor det_forward(const Tensor& A, const Tensor& tangent, const Tensor& det) {
  const Tensor relative = std::get<0>(taeda::linalg_solve_ex(A, tangent));
  return relative.diagonal(0, -2, -1).sum(IntList{-1}).mul(det);
}

Tensor inverse_differential(const Tensor& inverse, const Tensor& tangent) {
  if (!tangent.defined()) return {};
  return inverse.matmul(tangent).matmul(inverse).neg();
}

}  // namespace taeda::gradients
