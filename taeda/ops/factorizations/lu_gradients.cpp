// Derivative helpers of triangular solutions, LU factors and what is solved with them.
#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/factorizations/gradients.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/padding/functions.h"

namespace taeda::gradients {
namespace {

Tensor triangle(const Tensor& t, bool upper, bool is_unit) {
  return upper ? t.triu(is_unit ? 1 : 0) : t.tril(is_unit ? -1 : 0);
}
// The gradient of A in A X = B, or in X A = B, of the one of B.
Tensor matrix_gradient(const Tensor& grad_b, const Tensor& x, bool left) {
  return (left ? grad_b.matmul(taeda::adjoint(x)) : taeda::adjoint(x).matmul(grad_b)).neg();
}
Tensor times(const Tensor& a, const Tensor& x, bool left) {
  return left ? a.matmul(x) : x.matmul(a);
}

}  // namespace

std::tuple<Tensor, Tensor> solve_triangular_backward(const Tensor& grad, const Tensor& self,
                                                     const Tensor& B, const Tensor& result,
                                                     bool upper, bool left, bool unitriangular,
                                                     Span<bool> grad_input_mask) {
  const Tensor grad_b =
      taeda::linalg_solve_triangular(taeda::adjoint(self), grad, !upper, left, unitriangular);
  Tensor grad_a;
  if (grad_input_mask[0])
    grad_a = sum_to(triangle(matrix_gradient(grad_b, result, left), upper, unitriangular),
                    self.sym_sizes());
  return {grad_a, sum_to(cast_gradient(grad_b, B.dtype()), B.sym_sizes())};
}

Tensor solve_triangular_forward(const Tensor& self, const Tensor& self_tangent,
                                const Tensor& b_tangent, const Tensor& result, bool upper,
                                bool left, bool unitriangular) {
  const Tensor change = times(triangle(self_tangent, upper, unitriangular), result, left);
  return taeda::linalg_solve_triangular(self, b_tangent.sub(change), upper, left, unitriangular);
}

// ---- factors ----

namespace {

// A = P L U by blocks: the square ones of the first k rows and columns, and what is left of L and
// U, of which at least one is empty.
struct Factors {
  SymInt m, n, k;
  Tensor p, l, u;

  Factors(const Tensor& packed, const Tensor& pivots, bool pivot)
      : m(packed.sym_size(-2)), n(packed.sym_size(-1)), k(sym_min(m, n)), is_exchanged_(pivot) {
    std::tie(p, l, u) = taeda::lu_unpack(packed, pivots, /*unpack_data=*/true, pivot);
  }
  Tensor square(const Tensor& t) const { return t.narrow(-2, 0, k).narrow(-1, 0, k); }
  Tensor below(const Tensor& t) const { return t.narrow(-2, k, m - k).narrow(-1, 0, k); }
  Tensor beside(const Tensor& t) const { return t.narrow(-2, 0, k).narrow(-1, k, n - k); }
  Tensor exchanged(const Tensor& t) const { return is_exchanged_ ? p.matmul(t) : t; }
  Tensor exchanged_back(const Tensor& t) const { return is_exchanged_ ? p.mT().matmul(t) : t; }
  // The blocks as one matrix.
  Tensor joined(const Tensor& first, const Tensor& under, const Tensor& right) const {
    return m > k ? taeda::cat({first, under}, -2) : taeda::cat({first, right}, -1);
  }

 private:
  bool is_exchanged_;
};

}  // namespace

// With K = L^-1 P^T dA U^-1 (square blocks): dL = L tril(K, -1), dU = triu(K) U; of the blocks
// beside them dU' = L^-1 P^T dA' - tril(K, -1) U' and dL' = P^T dA' U^-1 - L' triu(K).
Tensor lu_factor_backward(const Tensor& grad, const Tensor& factors, const Tensor& pivots,
                          bool pivot) {
  const Factors f(factors, pivots, pivot);
  const Tensor l = f.square(f.l), u = f.square(f.u);
  const Tensor grad_square = f.square(grad), grad_below = f.below(grad),
               grad_beside = f.beside(grad);
  const Tensor of_l = taeda::adjoint(l)
                          .matmul(grad_square.tril(-1))
                          .sub(grad_beside.matmul(taeda::adjoint(f.beside(f.u))));
  const Tensor of_u = grad_square.triu()
                          .matmul(taeda::adjoint(u))
                          .sub(taeda::adjoint(f.below(f.l)).matmul(grad_below));
  const auto over_l = [&](const Tensor& t) {
    return taeda::linalg_solve_triangular(taeda::adjoint(l), t, /*upper=*/true, /*left=*/true,
                                          /*unitriangular=*/true);
  };
  const auto over_u = [&](const Tensor& t) {
    return taeda::linalg_solve_triangular(taeda::adjoint(u), t, /*upper=*/false, /*left=*/false);
  };
  const Tensor square = over_u(over_l(of_l.tril(-1).add(of_u.triu())));
  return f.exchanged(f.joined(square, over_u(grad_below), over_l(grad_beside)));
}

Tensor lu_factor_forward(const Tensor& tangent, const Tensor& factors, const Tensor& pivots,
                         bool pivot) {
  const Factors f(factors, pivots, pivot);
  const Tensor l = f.square(f.l), u = f.square(f.u);
  const Tensor moved = f.exchanged_back(tangent);
  const auto over_l = [&](const Tensor& t) {
    return taeda::linalg_solve_triangular(l, t, /*upper=*/false, /*left=*/true,
                                          /*unitriangular=*/true);
  };
  const auto over_u = [&](const Tensor& t) {
    return taeda::linalg_solve_triangular(u, t, /*upper=*/true, /*left=*/false);
  };
  const Tensor inner = over_u(over_l(f.square(moved)));
  const Tensor lower = inner.tril(-1), upper = inner.triu();
  const Tensor square = l.matmul(lower).add(upper.matmul(u));
  return f.joined(square, over_u(f.below(moved)).sub(f.below(f.l).matmul(upper)),
                  over_l(f.beside(moved)).sub(lower.matmul(f.beside(f.u))));
}

// ---- unpacked factors ----

Tensor lu_unpack_backward(const Tensor& grad_l, const Tensor& grad_u, SymIntList sizes,
                          bool unpack_data) {
  // Empty factors do not depend on the numbers.
  if (!unpack_data) return (grad_l.defined() ? grad_l : grad_u).new_zeros(sizes);
  const SymInt m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = sym_min(m, n);
  Tensor grad;
  if (grad_l.defined()) grad = taeda::constant_pad_nd(grad_l.tril(-1), {SymInt(0), n - k});
  if (!grad_u.defined()) return grad;
  const Tensor upper =
      taeda::constant_pad_nd(grad_u.triu(), {SymInt(0), SymInt(0), SymInt(0), m - k});
  return grad.defined() ? grad.add(upper) : upper;
}

Tensor lu_unpack_forward_l(const Tensor& tangent, bool unpack_data) {
  if (!unpack_data) return Tensor();
  return tangent.narrow(-1, 0, sym_min(tangent.sym_size(-2), tangent.sym_size(-1))).tril(-1);
}
Tensor lu_unpack_forward_u(const Tensor& tangent, bool unpack_data) {
  if (!unpack_data) return Tensor();
  return tangent.narrow(-2, 0, sym_min(tangent.sym_size(-2), tangent.sym_size(-1))).triu();
}

// ---- solutions ----

Tensor lu_solve_right_backward(const Tensor& grad, const Tensor& factors, const Tensor& pivots,
                               SymIntList sizes, bool left, bool adjoint) {
  return sum_to(taeda::linalg_lu_solve(factors, pivots, grad, left, !adjoint), sizes);
}

// X A = B is A^H X^H = B^H. With Z the right one of X and gB, and W the other one with its rows
// exchanged back, gU = -triu(L^H W Z^H) and gL = -tril(W (U Z)^H, -1).
Tensor lu_solve_factors_backward(const Tensor& grad, const Tensor& result, const Tensor& factors,
                                 const Tensor& pivots, bool left, bool adjoint) {
  const bool is_adjoint = left == adjoint;
  const Tensor g = left ? grad : taeda::adjoint(grad), x = left ? result : taeda::adjoint(result);
  const Tensor grad_b = taeda::linalg_lu_solve(factors, pivots, g, /*left=*/true, !is_adjoint);
  const Factors f(factors, pivots, /*pivot=*/true);
  const Tensor w = f.exchanged_back(is_adjoint ? x : grad_b);
  const Tensor z = is_adjoint ? grad_b : x;
  const Tensor grad_u = taeda::adjoint(f.l).matmul(w).matmul(taeda::adjoint(z));
  const Tensor grad_l = w.matmul(taeda::adjoint(f.u.matmul(z)));
  return sum_to(grad_u.triu().add(grad_l.tril(-1)).neg(), factors.sym_sizes());
}

Tensor lu_solve_forward(const Tensor& factors, const Tensor& factors_tangent, const Tensor& pivots,
                        const Tensor& b_tangent, const Tensor& result, bool left, bool adjoint) {
  const Factors f(factors, pivots, /*pivot=*/true);
  const Tensor change =
      f.exchanged(factors_tangent.tril(-1).matmul(f.u).add(f.l.matmul(factors_tangent.triu())));
  const Tensor moved = times(adjoint ? taeda::adjoint(change) : change, result, left);
  return taeda::linalg_lu_solve(factors, pivots, b_tangent.sub(moved), left, adjoint);
}

std::tuple<Tensor, Tensor> solve_backward(const Tensor& grad, const Tensor& A, const Tensor& B,
                                          const Tensor& result, const Tensor& factors,
                                          const Tensor& pivots, bool left,
                                          Span<bool> grad_input_mask, bool may_be_differentiated) {
  if (!grad.defined()) return {};
  const bool is_vector = is_vector_side(A, B);
  const auto matrix = [&](const Tensor& t) { return is_vector ? t.unsqueeze(-1) : t; };
  const Tensor grad_b =
      may_be_differentiated
          ? taeda::linalg_solve(taeda::adjoint(A), matrix(grad), left)
          : taeda::linalg_lu_solve(factors, pivots, matrix(grad), left, /*adjoint=*/true);
  Tensor grad_a;
  if (grad_input_mask[0])
    grad_a = sum_to(matrix_gradient(grad_b, matrix(result), left), A.sym_sizes());
  return {grad_a, sum_to(is_vector ? grad_b.squeeze(-1) : grad_b, B.sym_sizes())};
}

Tensor solve_forward(const Tensor& A, const Tensor& a_tangent, const Tensor& b_tangent,
                     const Tensor& result, bool left) {
  // A vector per matrix, as in the rule of the operator; the tangents have the shapes of A and B.
  const bool is_vector = is_vector_side(A, b_tangent);
  const auto matrix = [&](const Tensor& t) { return is_vector ? t.unsqueeze(-1) : t; };
  const Tensor change = times(a_tangent, matrix(result), left);
  const Tensor solved = taeda::linalg_solve(A, matrix(b_tangent).sub(change), left);
  return is_vector ? solved.squeeze(-1) : solved;
}

}  // namespace taeda::gradients
