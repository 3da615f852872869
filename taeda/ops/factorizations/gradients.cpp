// Derivative helpers of QR factors and of matrix functions.
#include "taeda/ops/factorizations/gradients.h"

#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/factorizations/reflections.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/padding/functions.h"

namespace taeda::gradients {

// ---- products of reflections, see Note [Products of reflections] ----

std::tuple<Tensor, Tensor> householder_product_backward(const Tensor& grad, const Tensor& input,
                                                        const Tensor& tau) {
  const Reflections r(input, tau);
  const Tensor vh = taeda::adjoint(r.v), th = taeda::adjoint(r.t), sh = taeda::adjoint(r.s);
  const Tensor grad_top = grad.matmul(r.top);  // (m, k)
  const Tensor grad_t = vh.matmul(grad_top).neg();
  const Tensor grad_s = th.matmul(grad_t).matmul(th).neg().triu(1);
  const Tensor through_t = grad_t.sub(sh.matmul(th.matmul(grad_t)));
  const Tensor grad_tau = through_t.sub(through_t.matmul(th).matmul(sh)).diagonal(0, -2, -1);
  const Tensor of_v = r.v.matmul(grad_s.add(taeda::adjoint(grad_s))).sub(grad_top.matmul(th));
  const Tensor of_top = taeda::adjoint(grad).matmul(r.v).matmul(r.t).neg();
  const SymInt m = input.sym_size(-2), n = input.sym_size(-1), k = tau.sym_size(-1);
  const Tensor grad_v =
      of_v.add(taeda::constant_pad_nd(of_top, {SymInt(0), SymInt(0), SymInt(0), m - n}));
  return {taeda::constant_pad_nd(grad_v.tril(-1), {SymInt(0), n - k}), grad_tau};
}

Tensor householder_product_forward(const Tensor& input, const Tensor& input_tangent,
                                   const Tensor& tau, const Tensor& tau_tangent) {
  const Reflections r(input, tau);
  const SymInt n = input.sym_size(-1), k = tau.sym_size(-1);
  const Tensor dv = input_tangent.narrow(-1, 0, k).tril(-1);
  const Tensor dtop = dv.narrow(-2, 0, n);
  const Tensor cross = taeda::adjoint(r.v).matmul(dv);
  const Tensor ds = cross.add(taeda::adjoint(cross)).triu(1);
  const Tensor dd = taeda::diag_embed(tau_tangent);
  const Tensor through_s = dd.sub(r.t.matmul(r.s.matmul(dd)));
  const Tensor dt =
      through_s.sub(through_s.matmul(r.s).matmul(r.t)).sub(r.t.matmul(ds).matmul(r.t));
  const Tensor toph = taeda::adjoint(r.top);
  const Tensor left = dv.matmul(r.t).add(r.v.matmul(dt));
  return left.matmul(toph).add(r.v.matmul(r.t.matmul(taeda::adjoint(dtop)))).neg();
}

// ---- QR ----

namespace {

Tensor real_diagonal(const Tensor& t) {
  const Tensor d = t.diagonal(0, -2, -1);
  return taeda::diag_embed(t.is_complex() ? d.add(d.conj()).mul(Scalar(0.5)) : d);
}
// The diagonal with its imaginary parts alone, subtracted from nothing for real matrices.
Tensor with_imaginary_diagonal(const Tensor& off_diagonal, const Tensor& t) {
  if (!t.is_complex()) return off_diagonal;
  const Tensor d = t.diagonal(0, -2, -1);
  return off_diagonal.add(taeda::diag_embed(d.sub(d.conj()).mul(Scalar(0.5))));
}

void check_qr_derivative(std::string_view mode, const Tensor& r) {
  const QrMode wanted(mode);
  TAEDA_CHECK(wanted.has_q,
              "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
              "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
              "linalg.qr.");
  TAEDA_CHECK(wanted.is_reduced || r.sym_size(-2) <= r.sym_size(-1),
              "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
}

Tensor divided_by_adjoint(const Tensor& t, const Tensor& r) {
  return taeda::linalg_solve_triangular(taeda::adjoint(r), t, /*upper=*/false, /*left=*/false);
}
Tensor divided_by(const Tensor& t, const Tensor& r) {
  return taeda::linalg_solve_triangular(r, t, /*upper=*/true, /*left=*/false);
}

}  // namespace

// Tall or square: with M = triu(gR R^H - Q^H gQ), gA = (gQ + Q (M + M^H - Re diag M)) R^-H.
// Wide: the first columns decide Q, and the others pass through R.
Tensor linalg_qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q,
                          const Tensor& r, std::string_view mode) {
  check_qr_derivative(mode, r);
  const SymInt m = q.sym_size(-2), n = r.sym_size(-1);
  Tensor inner;
  if (grad_r.defined()) inner = grad_r.matmul(taeda::adjoint(r));
  if (grad_q.defined()) {
    const Tensor of_q = taeda::adjoint(q).matmul(grad_q);
    inner = inner.defined() ? inner.sub(of_q) : of_q.neg();
  }
  if (m >= n) {
    const Tensor above = inner.triu(1);
    const Tensor symmetric = above.add(taeda::adjoint(above)).add(real_diagonal(inner));
    const Tensor whole = q.matmul(symmetric);
    return divided_by_adjoint(grad_q.defined() ? whole.add(grad_q) : whole, r);
  }
  const Tensor skew = taeda::adjoint(inner).sub(inner).tril(-1);
  const Tensor turned = q.matmul(with_imaginary_diagonal(skew, inner.neg()));
  const Tensor first = divided_by_adjoint(turned, r.narrow(-1, 0, m));
  const Tensor grad = taeda::constant_pad_nd(first, {SymInt(0), n - m});
  return grad_r.defined() ? grad.add(q.matmul(grad_r)) : grad;
}

namespace {

// What R changes by, over R: the upper triangle of Q^H dA R^-1 made Hermitian.
Tensor relative_r(const Tensor& tangent_over_r, const Tensor& q) {
  const Tensor x = taeda::adjoint(q).matmul(tangent_over_r);
  return x.add(taeda::adjoint(x)).triu(1).add(real_diagonal(x));
}
// What Q turns by, for a wide matrix: skew-Hermitian.
Tensor turn_of_wide(const Tensor& tangent, const Tensor& q, const Tensor& r) {
  const SymInt m = q.sym_size(-2);
  const Tensor x =
      divided_by(taeda::adjoint(q).matmul(tangent.narrow(-1, 0, m)), r.narrow(-1, 0, m));
  const Tensor below = x.tril(-1);
  return with_imaginary_diagonal(below.sub(taeda::adjoint(below)), x);
}

}  // namespace

Tensor linalg_qr_forward_q(const Tensor& tangent, const Tensor& q, const Tensor& r,
                           std::string_view mode) {
  check_qr_derivative(mode, r);
  const SymInt m = tangent.sym_size(-2), n = tangent.sym_size(-1);
  if (m < n) return q.matmul(turn_of_wide(tangent, q, r));
  const Tensor over_r = divided_by(tangent, r);
  return over_r.sub(q.matmul(relative_r(over_r, q)));
}

Tensor linalg_qr_forward_r(const Tensor& tangent, const Tensor& q, const Tensor& r,
                           std::string_view mode) {
  check_qr_derivative(mode, r);
  const SymInt m = tangent.sym_size(-2), n = tangent.sym_size(-1);
  if (m < n) return taeda::adjoint(q).matmul(tangent).sub(turn_of_wide(tangent, q, r).matmul(r));
  return relative_r(divided_by(tangent, r), q).matmul(r);
}

// ---- the exponential ----

// The exponential of ((A, E), (0, A)) has the change in the direction of E at its upper right.
Tensor matrix_exp_differential(const Tensor& self, const Tensor& tangent, bool adjoint) {
  const Tensor a = adjoint ? taeda::adjoint(self) : self;
  const SymInt n = self.sym_size(-1);
  const Tensor above = taeda::cat({a, tangent}, -1);
  const Tensor below = taeda::cat({taeda::zeros_like(a), a}, -1);
  const Tensor blocks = taeda::linalg_matrix_exp(taeda::cat({above, below}, -2));
  return blocks.narrow(-2, 0, n).narrow(-1, n, n);
}

}  // namespace taeda::gradients
