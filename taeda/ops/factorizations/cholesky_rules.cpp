// Shapes of Cholesky factors, and the operators that are made of them and of triangular equations.
#include <array>

#include "taeda/base/log.h"
#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/declarations.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {

std::array<OutSpec, 2> linalg_cholesky_ex_spec(const Tensor& self, bool, bool) {
  check_square(self, "linalg.cholesky");
  check_floating_or_complex(self, "linalg.cholesky");
  check_elements_dtype(self, "cholesky_cpu");
  OutSpec factor(self.sym_sizes(), self.dtype(), self.device());
  factor.strides = column_strides(factor.sizes);
  const SymIntVec batch(self.sym_sizes().begin(), self.sym_sizes().end() - 2);
  return {factor, OutSpec(SymIntList(batch), DType::Int32, self.device())};
}

namespace {

Tensor checked_factor(const Tensor& self, bool upper, const char* api_name) {
  auto [factor, info] = taeda::linalg_cholesky_ex(self, upper);
  taeda::_linalg_check_errors(info, api_name, self.dim() == 2);
  return factor;
}
Tensor& checked_factor_out(const Tensor& self, bool upper, const char* api_name, Tensor& out) {
  Tensor info = taeda::empty({SymInt(0)}, DType::Int32, std::nullopt, self.device());
  taeda::linalg_cholesky_ex_out(out, info, self, upper);
  taeda::_linalg_check_errors(info, api_name, self.dim() == 2);
  return out;
}

void warn_of_cholesky() {
  warn(
      "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a "
      "future PyTorch release.\nL = torch.cholesky(A)\nshould be replaced with\n"
      "L = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
      "should be replaced with\nU = torch.linalg.cholesky(A).mH\n"
      "This transform will produce equivalent results for all valid (symmetric positive definite) "
      "inputs.");
}

}  // namespace

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  return checked_factor(self, upper, "linalg.cholesky");
}
Tensor& linalg_cholesky_out(const Tensor& self, bool upper, Tensor& out) {
  return checked_factor_out(self, upper, "linalg.cholesky", out);
}

Tensor cholesky(const Tensor& self, bool upper) {
  warn_of_cholesky();
  check_square(self, "cholesky");
  return checked_factor(self, upper, "cholesky");
}
Tensor& cholesky_out(const Tensor& self, bool upper, Tensor& out) {
  warn_of_cholesky();
  check_square(self, "cholesky");
  return checked_factor_out(self, upper, "cholesky", out);
}

// ---- equations ----

namespace {

void check_side(const Tensor& b, const Tensor& a, const char* op) {
  TAEDA_CHECK(b.dtype() == a.dtype(),
              "Expected b and A to have the same dtype, but found b of type ", b.dtype(),
              " and A of type ", a.dtype(), " instead.");
  TAEDA_CHECK(a.sym_size(-1) == a.sym_size(-2),
              "A must be batches of square matrices, but they are ", a.sym_size(-2), " by ",
              a.sym_size(-1), " matrices");
  TAEDA_CHECK(a.sym_size(-1) == b.sym_size(-2), "Incompatible matrix sizes for ", op,
              ": each A matrix is ", a.sym_size(-1), " by ", a.sym_size(-1),
              " but each b matrix is ", b.sym_size(-2), " by ", b.sym_size(-1));
}

void check_cholesky_side(const Tensor& b, const Tensor& factor) {
  TAEDA_CHECK(b.dim() >= 2, "b should have at least 2 dimensions, but has ", b.dim(),
              " dimensions instead");
  TAEDA_CHECK(factor.dim() >= 2, "u should have at least 2 dimensions, but has ", factor.dim(),
              " dimensions instead");
  check_side(b, factor, "cholesky_solve");
}

// A X = B is L Y = B, then L^H X = Y. Each factor is given as the triangle that is read of it.
struct Halves {
  Tensor first, second;
  Halves(const Tensor& factor, bool upper)
      : first(upper ? taeda::adjoint(factor) : factor),
        second(upper ? factor : taeda::adjoint(factor)) {}
  Tensor inner(const Tensor& b) const {
    return taeda::linalg_solve_triangular(first, b, /*upper=*/false);
  }
  Tensor solved(const Tensor& b) const {
    return taeda::linalg_solve_triangular(second, inner(b), /*upper=*/true);
  }
  Tensor& solved_out(const Tensor& b, Tensor& out) const {
    return taeda::linalg_solve_triangular_out(out, second, inner(b), /*upper=*/true);
  }
};

// The identity, after the diagonal is found to have no zero.
Tensor identity_for_inverse(const Tensor& factor) {
  check_square(factor, "cholesky_inverse");
  check_factor_dtype(factor.dtype(), "cholesky_inverse_out_cpu");
  const SymInt n = factor.sym_size(-1);
  if (n != SymInt(0)) {
    const Tensor is_zero = factor.detach().diagonal(0, -2, -1).eq(Scalar(0));
    const Tensor place = is_zero.to(DType::Int32).argmax(-1).add(Scalar(1));
    const Tensor info = place.mul(is_zero.any(-1)).to(DType::Int32);
    taeda::_linalg_check_errors(info, "cholesky_inverse", factor.dim() == 2);
  }
  return taeda::eye(n, factor.dtype(), std::nullopt, factor.device());
}

}  // namespace

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  check_cholesky_side(self, input2);
  return Halves(input2, upper).solved(self);
}
Tensor& cholesky_solve_out(const Tensor& self, const Tensor& input2, bool upper, Tensor& out) {
  check_cholesky_side(self, input2);
  return Halves(input2, upper).solved_out(self, out);
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  const Tensor identity = identity_for_inverse(self);
  return Halves(self, upper).solved(identity);
}
Tensor& cholesky_inverse_out(const Tensor& self, bool upper, Tensor& out) {
  const Tensor identity = identity_for_inverse(self);
  return Halves(self, upper).solved_out(identity, out);
}

namespace {

void prepare_triangular_solve(const Tensor& b, const Tensor& a) {
  constexpr const char* kOp = "torch.triangular_solve: Expected ";
  TAEDA_CHECK(b.dim() >= 2, kOp, "b to have at least 2 dimensions, but it has ", b.dim(),
              " dimensions instead");
  TAEDA_CHECK(a.dim() >= 2, kOp, "A to have at least 2 dimensions, but it has ", a.dim(),
              " dimensions instead");
  check_side(b, a, "triangular_solve");
  warn(
      "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and will be "
      "removed in a future PyTorch release.\ntorch.linalg.solve_triangular has its arguments "
      "reversed and does not return a copy of one of the inputs.\n"
      "X = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
      "X = torch.linalg.solve_triangular(A, B).");
}

// A for every equation, column after column.
Tensor coefficients(const Tensor& b, const Tensor& a) {
  return a.expand(SymIntList(broadcast_batches(a, b))).mT().clone(MemoryFormat::Contiguous).mT();
}

}  // namespace

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper,
                                            bool transpose, bool unitriangular) {
  prepare_triangular_solve(self, A);
  return {taeda::linalg_solve_triangular(transpose ? A.mT() : A, self, upper != transpose,
                                         /*left=*/true, unitriangular),
          coefficients(self, A)};
}
std::tuple<Tensor, Tensor> triangular_solve_X(const Tensor& self, const Tensor& A, bool upper,
                                              bool transpose, bool unitriangular, Tensor& X,
                                              Tensor& M) {
  prepare_triangular_solve(self, A);
  const Tensor copy = coefficients(self, A);
  taeda::linalg_solve_triangular_out(X, transpose ? A.mT() : A, self, upper != transpose,
                                     /*left=*/true, unitriangular);
  resize_output(M, copy.sym_sizes());
  M.copy_(copy);
  return {X, M};
}

}  // namespace taeda::impl
