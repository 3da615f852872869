// The operators of triangular equations and LU factors.
#include <algorithm>
#include <numeric>
#include <string>

#include "taeda/backends/cpu/factor/lu.h"
#include "taeda/backends/cpu/factor/triangular.h"
#include "taeda/backends/cpu/factorizations_declarations.h"
#include "taeda/base/linalg_error.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// B as it was given, in the dtype of the result and apart from its memory.
Tensor side_for(const Tensor& b, const Tensor& out) {
  BelowADInplaceOrView guard;
  return apart_from(b.dtype() == out.dtype() ? b : b.to(out.dtype()), out);
}

template <class T>
Matrix<T> turned_if(bool is_turned, Matrix<T> m) {
  return is_turned ? Matrix<T>{m.data, m.col_stride, m.row_stride} : m;
}

}  // namespace

void linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left,
                             bool unitriangular, Tensor& out) {
  visit_factor_dtype(self.dtype(), "triangular_solve_cpu", [&](auto tag) {
    using T = decltype(tag);
    if (out.numel() == 0) return;
    const Tensor matrix = apart_from(self, out), side = side_for(B, out);
    const IntList batch = batch_sizes(out, 2);
    const Matrices<T> a(matrix, batch), from(side, batch), to(out, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> x(out.size(-2), out.size(-1));
      x.load(from[i]);
      // X A = B is A^T X^T = B^T.
      const Matrix<T> read = turned_if(!left, a[i]);
      solve_triangle<T>(left ? x.rows : x.columns, left ? x.columns : x.rows,
                        {read.data, read.row_stride, read.col_stride}, upper == left, unitriangular,
                        turned_if(!left, x.view()));
      x.store(to[i]);
    });
  });
}

void _linalg_check_errors(const Tensor& info, std::string_view api_name, bool is_matrix) {
  TAEDA_CHECK(info.dtype() == DType::Int32, "[_linalg_check_errors] info: got dtype ", info.dtype(),
              ", expected Int");
  const Tensor numbers = info.contiguous();
  const int32_t* const first = numbers.data<int32_t>();
  const int32_t* const found =
      std::find_if(first, first + numbers.numel(), [](int32_t x) { return x != 0; });
  if (found == first + numbers.numel()) return;
  std::string where(api_name);
  if (!is_matrix) where += str(": (Batch element ", found - first, ")");
  if (api_name.find("lu_factor") != std::string_view::npos)
    fail(ErrorKind::Runtime, where, ": U[", *found, ",", *found,
         "] is zero and using it on lu_solve would result in a division by zero. If you still want "
         "to perform the factorization, consider calling linalg.lu(A, pivot) or "
         "linalg.lu_factor_ex(A, pivot)");
  if (api_name.find("inv") != std::string_view::npos)
    throw LinAlgError(str(where, ": The diagonal element ", *found,
                          " is zero, the inversion could not be completed because the input "
                          "matrix is singular."));
  const bool is_solution = api_name.find("solve") != std::string_view::npos;
  if (!is_solution && api_name.find("cholesky") != std::string_view::npos)
    throw LinAlgError(str(where,
                          ": The factorization could not be completed because the input is not "
                          "positive-definite (the leading minor of order ",
                          *found, " is not positive-definite)."));
  throw LinAlgError(where + ": The solver failed because the input matrix is singular.");
}

void linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors, Tensor& LU, Tensor& pivots,
                         Tensor& info) {
  if (A.numel() == 0) {  // of any dtype, as in PyTorch
    BelowADInplaceOrView guard;
    info.zero_();
    return;
  }
  visit_factor_dtype(A.dtype(), "lu_cpu", [&](auto tag) {
    using T = decltype(tag);
    TAEDA_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    const Tensor input = apart_from(A, LU);
    const IntList batch = batch_sizes(A, 2);
    const Matrices<T> from(input, batch), to(LU, batch);
    const Vectors<int32_t> exchanges(pivots, batch);
    const BatchOffsets at(info, 0, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(A.size(-2), A.size(-1));
      std::vector<int32_t> rows;
      matrix.load(from[i]);
      info.data<int32_t>()[at(i)] = factor_lu(matrix, rows);
      matrix.store(to[i]);
      exchanges.store(i, rows);
    });
  });
  if (check_errors) _linalg_check_errors(info, "torch.linalg.lu_factor_ex", A.dim() == 2);
}

void lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots,
               Tensor& P, Tensor& L, Tensor& U) {
  const Tensor data = apart_from(apart_from(apart_from(LU_data, P), L), U);
  if (unpack_pivots) {
    const int64_t m = LU_data.size(-2);
    const IntList batch = batch_sizes(LU_data, 2);
    const Vectors<int32_t> exchanges(LU_pivots, batch);
    BelowADInplaceOrView guard;
    Tensor order = taeda::empty(as_symint(batch_sizes(P, 1)), DType::Int64);
    for (int64_t i = 0; i < count_of(batch); ++i) {
      int64_t* rows = order.data<int64_t>() + i * m;
      std::iota(rows, rows + m, 0);
      const std::vector<int32_t> pivots = exchanges.load(i);
      for (size_t k = 0; k < pivots.size(); ++k) {
        TAEDA_CHECK(pivots[k] >= 1 && pivots[k] <= m,
                    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                    "Did you properly pass the result of lu_factor?");
        std::swap(rows[k], rows[pivots[k] - 1]);
      }
    }
    P.zero_();
    P.scatter_(-2, order.unsqueeze(-2), Scalar(1));
  }
  if (!unpack_data) return;
  BelowADInplaceOrView guard;
  const int64_t k = std::min(LU_data.size(-2), LU_data.size(-1));
  L.copy_(data.narrow(-1, 0, k).tril(-1));
  L.diagonal(0, -2, -1).fill_(Scalar(1));
  U.copy_(data.narrow(-2, 0, k).triu());
}

void linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                     bool adjoint, Tensor& out) {
  if (out.numel() == 0) return;
  visit_factor_dtype(LU.dtype(), "linalg.lu_solve_cpu", [&](auto tag) {
    using T = decltype(tag);
    const Tensor factors = apart_from(LU, out), side = side_for(B, out);
    const IntList batch = batch_sizes(out, 2);
    const Matrices<T> a(factors, batch), from(side, batch), to(out, batch);
    const Vectors<int32_t> exchanges(pivots, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      const std::vector<int32_t> rows = exchanges.load(i);
      const int64_t n = LU.size(-1);
      for (const int32_t row : rows)
        TAEDA_CHECK(row >= 1 && row <= n,
                    "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did "
                    "you properly pass the result of lu_factor?");
      Columns<T> matrix(n, n), x(out.size(-2), out.size(-1));
      matrix.load(a[i]);
      if (adjoint)
        for (T& value : matrix.data) value = conjugate(value);
      x.load(from[i]);
      // X A = B is A^T X^T = B^T, and A^H is the conjugate of A^T.
      solve_with_factors<T>(matrix, rows, left == adjoint, left ? x.columns : x.rows,
                            turned_if(!left, x.view()));
      x.store(to[i]);
    });
  });
}

void _linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors,
                      Tensor& result, Tensor& LU, Tensor& pivots, Tensor& info) {
  const Tensor input = apart_from(A, result), side = apart_from(apart_from(B, LU), result);
  linalg_lu_factor_ex(input, /*pivot=*/true, /*check_errors=*/false, LU, pivots, info);
  if (check_errors) _linalg_check_errors(info, "torch.linalg.solve_ex", A.dim() == 2);
  // A vector per matrix has one dimension less than the solution of matrices.
  const bool is_vector = B.dim() == 1 || (B.dim() == A.dim() - 1 && B.sizes() == batch_sizes(A, 1));
  Tensor x = is_vector ? result.unsqueeze(-1) : result;
  linalg_lu_solve(LU, pivots, is_vector ? side.unsqueeze(-1) : side, left, /*adjoint=*/false, x);
}

}  // namespace taeda::cpu
