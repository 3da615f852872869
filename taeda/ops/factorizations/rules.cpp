// Shapes of factors and solutions, and the operators that are made of others.
#include <array>

#include "taeda/base/log.h"
#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/declarations.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

SymIntVec sizes_of(const Tensor& t) {
  return SymIntVec(t.sym_sizes().begin(), t.sym_sizes().end());
}
SymIntVec batch_of(const Tensor& t, int64_t inner) {
  return SymIntVec(t.sym_sizes().begin(), t.sym_sizes().end() - inner);
}
SymInt smaller_side(const Tensor& t) { return sym_min(t.sym_size(-2), t.sym_size(-1)); }

// Matrices of the batch of `like` that lie column after column.
OutSpec column_spec(SymIntVec sizes, const Tensor& like) {
  OutSpec spec(SymIntList(sizes), like.dtype(), like.device());
  spec.strides = column_strides(sizes);
  return spec;
}
OutSpec column_spec(const Tensor& like, const SymInt& rows, const SymInt& columns) {
  SymIntVec sizes = batch_of(like, 2);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return column_spec(std::move(sizes), like);
}
OutSpec empty_spec(const Tensor& like) {
  return OutSpec(SymIntVec{SymInt(0)}, like.dtype(), like.device());
}
OutSpec plain_spec(SymIntVec sizes, DType dtype, Device device) {
  return OutSpec(SymIntList(sizes), dtype, device);
}
// Results that lie in PyTorch's memory as it says may be given in any layout that is cast to.
OutSpec castable(OutSpec spec) {
  spec.is_cast_allowed = true;
  return spec;
}

}  // namespace

// ---- reflections ----

std::array<OutSpec, 2> geqrf_spec(const Tensor& self) {
  TAEDA_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  check_factor_dtype(self.dtype(), "geqrf_cpu");
  SymIntVec tau = batch_of(self, 2);
  tau.push_back(smaller_side(self));
  return {castable(column_spec(sizes_of(self), self)),
          castable(plain_spec(tau, self.dtype(), self.device()))};
}

OutSpec linalg_householder_product_spec(const Tensor& input, const Tensor& tau) {
  constexpr const char* kOp = "torch.linalg.householder_product: ";
  TAEDA_CHECK(input.dim() >= 2, kOp, "input must have at least 2 dimensions.");
  TAEDA_CHECK(input.sym_size(-2) >= input.sym_size(-1), kOp,
              "input.shape[-2] must be greater than or equal to input.shape[-1]");
  TAEDA_CHECK(input.sym_size(-1) >= tau.sym_size(-1), kOp,
              "input.shape[-1] must be greater than or equal to tau.shape[-1]");
  TAEDA_CHECK(input.dim() - tau.dim() == 1, kOp,
              "Expected tau to have one dimension less than input, but got tau.ndim equal to ",
              tau.dim(), " and input.ndim is equal to ", input.dim());
  const SymIntVec batch = batch_of(tau, 1);
  for (size_t d = 0; d < batch.size(); ++d)
    TAEDA_CHECK(batch[d] == input.sym_size(static_cast<int64_t>(d)), kOp,
                "Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
                SymIntList(batch));
  TAEDA_CHECK(tau.dtype() == input.dtype(), kOp, "tau dtype ", tau.dtype(),
              " does not match input dtype ", input.dtype());
  check_factor_dtype(input.dtype(), "orgqr_cpu");
  return castable(column_spec(sizes_of(input), input));
}

std::array<OutSpec, 2> linalg_qr_spec(const Tensor& A, std::string_view mode) {
  check_is_matrix(A, "linalg.qr");
  check_floating_or_complex(A, "linalg.qr");
  const QrMode wanted(mode);
  check_factor_dtype(A.dtype(), "geqrf_cpu");
  const SymInt m = A.sym_size(-2), k = smaller_side(A);
  const OutSpec q = wanted.has_q ? column_spec(A, m, wanted.is_reduced ? k : m) : empty_spec(A);
  return {q, column_spec(A, wanted.is_reduced ? k : m, A.sym_size(-1))};
}

namespace {

const char* mode_of(bool some) {
  warn(
      "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch "
      "release.\nThe boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
      "Q, R = torch.qr(A, some)\nshould be replaced with\n"
      "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')");
  return some ? "reduced" : "complete";
}

}  // namespace

std::tuple<Tensor, Tensor> qr(const Tensor& self, bool some) {
  return taeda::linalg_qr(self, mode_of(some));
}
std::tuple<Tensor, Tensor> qr_Q(const Tensor& self, bool some, Tensor& Q, Tensor& R) {
  return taeda::linalg_qr_out(Q, R, self, mode_of(some));
}

// ---- equations ----

OutSpec linalg_solve_triangular_spec(const Tensor& self, const Tensor& B, bool, bool left, bool) {
  check_equation(self, B, left, "linalg.solve_triangular");
  check_factor_dtype(self.dtype(), "triangular_solve_cpu");
  return column_spec(broadcast_batches(B, self), self);
}

std::array<OutSpec, 3> linalg_lu_factor_ex_spec(const Tensor& A, bool, bool) {
  TAEDA_CHECK(A.dim() >= 2,
              "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ",
              A.sym_sizes(), " instead");
  check_elements_dtype(A, "lu_cpu");
  SymIntVec pivots = batch_of(A, 2);
  const OutSpec info = plain_spec(pivots, DType::Int32, A.device());
  pivots.push_back(smaller_side(A));
  return {column_spec(sizes_of(A), A), plain_spec(pivots, DType::Int32, A.device()), info};
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  auto [factors, pivots, info] = taeda::linalg_lu_factor_ex(A, pivot);
  taeda::_linalg_check_errors(info, "torch.linalg.lu_factor", A.dim() == 2);
  return {factors, pivots};
}
std::tuple<Tensor, Tensor> linalg_lu_factor_out(const Tensor& A, bool pivot, Tensor& LU,
                                                Tensor& pivots) {
  Tensor info = taeda::empty({SymInt(0)}, DType::Int32, std::nullopt, A.device());
  taeda::linalg_lu_factor_ex_out(LU, pivots, info, A, pivot);
  taeda::_linalg_check_errors(info, "torch.linalg.lu_factor", A.dim() == 2);
  return {LU, pivots};
}

std::array<OutSpec, 3> lu_unpack_spec(const Tensor& LU_data, const Tensor& LU_pivots,
                                      bool unpack_data, bool unpack_pivots) {
  TAEDA_CHECK(LU_data.dim() >= 2,
              "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ",
              LU_data.sym_sizes(), " instead");
  const SymInt m = LU_data.sym_size(-2), n = LU_data.sym_size(-1), k = smaller_side(LU_data);
  if (unpack_pivots) {
    TAEDA_CHECK(LU_pivots.dtype() == DType::Int32,
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
                "dtype.\nNote: this function is intended to be used with the output produced by "
                "torch.linalg.lu_factor");
    SymIntVec expected = batch_of(LU_data, 2);
    expected.push_back(k);
    TAEDA_CHECK(LU_pivots.sym_sizes() == SymIntList(expected),
                "[lu_unpack] one pivot per column of L: got LU_pivots of size ",
                LU_pivots.sym_sizes(), ", expected ", SymIntList(expected));
  }
  const auto spec = [&](const SymInt& rows, const SymInt& columns) {
    SymIntVec sizes = batch_of(LU_data, 2);
    sizes.push_back(rows);
    sizes.push_back(columns);
    return plain_spec(sizes, LU_data.dtype(), LU_data.device());
  };
  const OutSpec none = empty_spec(LU_data);
  return {unpack_pivots ? spec(m, m) : none, unpack_data ? spec(m, k) : none,
          unpack_data ? spec(k, n) : none};
}

OutSpec linalg_lu_solve_spec(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                             bool) {
  check_floating_or_complex(LU, "torch.linalg.lu_solve");
  TAEDA_CHECK(LU.dtype() == B.dtype(),
              "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type ",
              LU.dtype(), " and B of type ", B.dtype(), " instead");
  TAEDA_CHECK(pivots.dtype() == DType::Int32,
              "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  check_square(LU, "torch.linalg.lu_solve");
  check_equation(LU, B, left, "linalg.lu_solve");
  TAEDA_CHECK(LU.sym_size(-1) == pivots.sym_size(-1),
              "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
              "matrix");
  TAEDA_CHECK(pivots.sym_sizes() == SymIntList(batch_of(LU, 1)),
              "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
              "pivots with shape ",
              pivots.sym_sizes(), " instead");
  check_elements_dtype(B, "linalg.lu_solve_cpu");
  OutSpec spec(SymIntList(broadcast_batches(B, LU)), B.dtype(), B.device());
  if (left) spec.strides = column_strides(spec.sizes);
  return spec;
}

std::array<OutSpec, 4> _linalg_solve_ex_spec(const Tensor& A, const Tensor& B, bool left, bool) {
  check_floating_or_complex(A, "linalg.solve");
  TAEDA_CHECK(A.dtype() == B.dtype(),
              "linalg.solve: Expected A and B to have the same dtype, but found A of type ",
              A.dtype(), " and B of type ", B.dtype(), " instead");
  check_is_matrix(A, "linalg.solve");
  const bool is_vector = is_vector_side(A, B);
  const Tensor matrix = is_vector ? B.unsqueeze(-1) : B;
  check_equation(A, matrix, left, "linalg.solve");
  SymIntVec sizes = broadcast_batches(matrix, A);
  TAEDA_CHECK(left || !is_vector,
              "linalg.solve: Vector broadcasting of the left hand side is not supported for "
              "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  check_elements_dtype(A, "lu_cpu");
  if (is_vector) sizes.pop_back();
  OutSpec result(SymIntList(sizes), B.dtype(), B.device());
  if (left) result.strides = column_strides(sizes);
  return {result, column_spec(sizes_of(A), A), plain_spec(batch_of(A, 1), DType::Int32, A.device()),
          plain_spec(batch_of(A, 2), DType::Int32, A.device())};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  auto [result, factors, pivots, info] = taeda::_linalg_solve_ex(A, B, left, check_errors);
  return {result, info};
}
std::tuple<Tensor, Tensor> linalg_solve_ex_out(const Tensor& A, const Tensor& B, bool left,
                                               bool check_errors, Tensor& result, Tensor& info) {
  Tensor factors = A.new_empty({SymInt(0)});
  Tensor pivots = taeda::empty({SymInt(0)}, DType::Int32, std::nullopt, A.device());
  taeda::_linalg_solve_ex_out(result, factors, pivots, info, A, B, left, check_errors);
  return {result, info};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  auto [result, info] = taeda::linalg_solve_ex(A, B, left);
  taeda::_linalg_check_errors(info, "torch.linalg.solve", A.dim() == 2);
  return result;
}
Tensor& linalg_solve_out(const Tensor& A, const Tensor& B, bool left, Tensor& out) {
  Tensor info = taeda::empty({SymInt(0)}, DType::Int32, std::nullopt, A.device());
  taeda::linalg_solve_ex_out(out, info, A, B, left);
  taeda::_linalg_check_errors(info, "torch.linalg.solve", A.dim() == 2);
  return out;
}

void _linalg_check_errors_meta(const Tensor&, std::string_view, bool) {}

// ---- functions of matrices ----

OutSpec linalg_matrix_exp_spec(const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  check_floating_or_complex(self, "linalg.matrix_exp");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

Tensor matrix_exp(const Tensor& self) { return taeda::linalg_matrix_exp(self); }

}  // namespace taeda::impl
