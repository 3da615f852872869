// Determinants and inverses, from LU factors.
#include <limits>

#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/declarations.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {
namespace {

void check_invertible(const Tensor& a, const char* op) {
  check_square(a, op);
  check_floating_or_complex(a, op);
  const DType real = to_real(a.dtype());
  TAEDA_CHECK(real == DType::Float || real == DType::Double, op,
              ": Low precision dtypes not supported. Got ", a.dtype());
}

// The diagonal of U, and -1 for an odd number of exchanged rows.
struct Diagonal {
  Tensor factors, pivots, numbers, parity;

  Diagonal(const Tensor& a, const char* op, bool allows_halves = false) {
    // The factors refuse halves, but for matrices without elements.
    if (allows_halves) {
      check_square(a, op);
      check_floating_or_complex(a, op);
    } else {
      check_invertible(a, op);
    }
    std::tie(factors, pivots, std::ignore) = taeda::linalg_lu_factor_ex(a);
    numbers = factors.diagonal(0, -2, -1);
    parity = parity_of(pivots, a.dtype());
  }
  Tensor phase() const { return numbers.sgn().prod(-1); }
  Tensor logarithms() const { return numbers.abs().log(); }
};

}  // namespace

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const Diagonal diagonal(A, "linalg.slogdet");
  return {diagonal.phase().mul(diagonal.parity), diagonal.logarithms().sum(IntList{-1})};
}
std::tuple<Tensor, Tensor> linalg_slogdet_out(const Tensor& A, Tensor& sign, Tensor& logabsdet) {
  const Diagonal diagonal(A, "linalg.slogdet");
  taeda::mul_out(sign, diagonal.phase(), diagonal.parity);
  taeda::sum_out(logabsdet, diagonal.logarithms(), IntList{-1});
  return {sign, logabsdet};
}

std::tuple<Tensor, Tensor, Tensor> _linalg_det(const Tensor& A) {
  const Diagonal diagonal(A, "linalg.det", /*allows_halves=*/true);
  return {diagonal.numbers.prod(-1).mul(diagonal.parity), diagonal.factors, diagonal.pivots};
}

Tensor linalg_det(const Tensor& A) { return std::get<0>(taeda::_linalg_det(A)); }
Tensor& linalg_det_out(const Tensor& A, Tensor& out) {
  const Diagonal diagonal(A, "linalg.det", /*allows_halves=*/true);
  return taeda::mul_out(out, diagonal.numbers.prod(-1), diagonal.parity);
}
Tensor det(const Tensor& self) { return taeda::linalg_det(self); }

Tensor logdet(const Tensor& self) {
  const Diagonal diagonal(self, "logdet");
  const Tensor sign = diagonal.phase().mul(diagonal.parity);
  const Tensor logarithm = diagonal.logarithms().sum(IntList{-1});
  if (self.is_complex()) return sign.log().add(logarithm);
  return logarithm.masked_fill(sign.eq(Scalar(-1)),
                               Scalar(std::numeric_limits<double>::quiet_NaN()));
}

// ---- inverses ----

namespace {

// The identity in the shape of A: a matrix beside a batch could pass for a batch of vectors.
Tensor identities(const Tensor& a) {
  const SymInt n = a.sym_size(-1);
  return taeda::eye(n, a.dtype(), std::nullopt, a.device()).expand(a.sym_sizes());
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_invertible(A, "linalg.inv");
  auto [inverse, info] = taeda::linalg_solve_ex(A, identities(A));
  if (check_errors) taeda::_linalg_check_errors(info, "linalg.inv_ex", A.dim() == 2);
  return {inverse, info};
}
std::tuple<Tensor, Tensor> linalg_inv_ex_inverse(const Tensor& A, bool check_errors,
                                                 Tensor& inverse, Tensor& info) {
  check_invertible(A, "linalg.inv");
  taeda::linalg_solve_ex_out(inverse, info, A, identities(A));
  if (check_errors) taeda::_linalg_check_errors(info, "linalg.inv_ex", A.dim() == 2);
  return {inverse, info};
}

Tensor linalg_inv(const Tensor& A) {
  auto [inverse, info] = taeda::linalg_inv_ex(A);
  taeda::_linalg_check_errors(info, "linalg.inv", A.dim() == 2);
  return inverse;
}
Tensor& linalg_inv_out(const Tensor& A, Tensor& out) {
  Tensor info = taeda::empty({SymInt(0)}, DType::Int32, std::nullopt, A.device());
  taeda::linalg_inv_ex_out(out, info, A);
  taeda::_linalg_check_errors(info, "linalg.inv", A.dim() == 2);
  return out;
}

}  // namespace taeda::impl
