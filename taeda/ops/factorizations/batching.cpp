// Batching rules: matrices have their own batches, so examples become one more of them.
#include "taeda/ops/factorizations/batching.h"

#include <algorithm>

#include "taeda/ops/factorizations/checks.h"
#include "taeda/ops/factorizations/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// Two operands whose matrices broadcast, with the batch in front of both.
struct Aligned {
  Tensor a, b;

  Aligned(const Batched& first, const Batched& second) {
    const int64_t rank = std::max(first.rank(), second.rank());
    const auto align = [&](const Batched& x) {
      return x.is_batched() ? x.front_aligned(rank) : x.value;
    };
    a = align(first);
    b = align(second);
  }
};

// Before the batch is in front: with it a vector would pass for a matrix.
void check_matrix(const Batched& x, const char* op, const char* name = "A") {
  TAEDA_CHECK(x.rank() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions.");
}

// Results that are empty because they are not asked for have no batch.
Batched batched_if(bool has_batch, const Tensor& t) { return {t, has_batch ? 0 : -1}; }

}  // namespace

std::tuple<Batched, Batched> geqrf(const Batched& self) {
  TAEDA_CHECK(self.rank() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  const auto [a, tau] = taeda::geqrf(self.front());
  return {Batched(a, 0), Batched(tau, 0)};
}

Batched linalg_householder_product(const Batched& input, const Batched& tau) {
  TAEDA_CHECK(input.rank() >= 2,
              "torch.linalg.householder_product: input must have at least 2 dimensions.");
  const SymInt& size = batch_context().size;
  return {taeda::linalg_householder_product(input.front_expanded(size), tau.front_expanded(size)),
          0};
}

Batched linalg_matrix_exp(const Batched& self) {
  check_matrix(self, "linalg.matrix_exp");
  return {taeda::linalg_matrix_exp(self.front()), 0};
}

std::tuple<Batched, Batched> linalg_qr(const Batched& A, std::string_view mode) {
  check_matrix(A, "linalg.qr");
  const auto [q, r] = taeda::linalg_qr(A.front(), mode);
  return {batched_if(QrMode(mode).has_q, q), Batched(r, 0)};
}

Batched linalg_solve_triangular(const Batched& self, const Batched& B, bool upper, bool left,
                                bool unitriangular) {
  check_matrix(self, "linalg.solve_triangular");
  check_matrix(B, "linalg.solve_triangular", "B");
  const Aligned both(self, B);
  return {taeda::linalg_solve_triangular(both.a, both.b, upper, left, unitriangular), 0};
}

std::tuple<Batched, Batched> linalg_cholesky_ex(const Batched& self, bool upper,
                                                bool check_errors) {
  check_matrix(self, "linalg.cholesky");
  const auto [factor, info] = taeda::linalg_cholesky_ex(self.front(), upper, check_errors);
  return {Batched(factor, 0), Batched(info, 0)};
}

// An error is found in the results, where the number of the example is not one of the program's.
std::tuple<Batched, Batched, Batched> linalg_lu_factor_ex(const Batched& A, bool pivot,
                                                          bool check_errors) {
  check_matrix(A, "torch.lu_factor");
  const auto [factors, pivots, info] = taeda::linalg_lu_factor_ex(A.front(), pivot, check_errors);
  return {Batched(factors, 0), Batched(pivots, 0), Batched(info, 0)};
}

std::tuple<Batched, Batched, Batched> lu_unpack(const Batched& LU_data, const Batched& LU_pivots,
                                                bool unpack_data, bool unpack_pivots) {
  check_matrix(LU_data, "torch.lu_unpack", "LU_data");
  const SymInt& size = batch_context().size;
  const auto [p, l, u] = taeda::lu_unpack(
      LU_data.front_expanded(size), LU_pivots.front_expanded(size), unpack_data, unpack_pivots);
  return {batched_if(unpack_pivots, p), batched_if(unpack_data, l), batched_if(unpack_data, u)};
}

Batched linalg_lu_solve(const Batched& LU, const Batched& pivots, const Batched& B, bool left,
                        bool adjoint) {
  check_matrix(LU, "linalg.lu_solve", "LU");
  check_matrix(B, "linalg.lu_solve", "B");
  TAEDA_CHECK(pivots.rank() == LU.rank() - 1,
              "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
              "matrix");
  const SymInt& size = batch_context().size;
  const bool are_factors_batched = LU.is_batched() || pivots.is_batched();
  const int64_t rank = std::max(LU.rank(), B.rank());
  const auto aligned = [&](const Batched& x, int64_t to) {
    return Batched(x.front_expanded(size), 0).front_aligned(to);
  };
  const Tensor right = B.is_batched() ? B.front_aligned(rank) : B.value;
  if (!are_factors_batched)
    return {taeda::linalg_lu_solve(LU.value, pivots.value, right, left, adjoint), 0};
  return {
      taeda::linalg_lu_solve(aligned(LU, rank), aligned(pivots, rank - 1), right, left, adjoint),
      0};
}

std::tuple<Batched, Batched, Batched, Batched> _linalg_solve_ex(const Batched& A, const Batched& B,
                                                                bool left, bool check_errors) {
  check_matrix(A, "linalg.solve");
  const SymInt& size = batch_context().size;
  const Tensor matrices = A.front_expanded(size), sides = B.front_expanded(size);
  // The same of one example: whether its right side is a vector per matrix.
  const bool is_vector = is_vector_side(matrices.select(0, 0), sides.select(0, 0));
  TAEDA_CHECK(left || !is_vector,
              "linalg.solve: Vector broadcasting of the left hand side is not supported for "
              "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Batched side(is_vector ? sides.unsqueeze(-1) : sides, 0);
  const int64_t rank = std::max(A.rank(), side.rank());
  const auto [result, factors, pivots, info] = taeda::_linalg_solve_ex(
      Batched(matrices, 0).front_aligned(rank), side.front_aligned(rank), left, check_errors);
  const SymIntList own = matrices.sym_sizes();
  const auto restored = [&](const Tensor& t, int64_t inner) {
    return Batched(t.reshape(SymIntList(own.data(), own.size() - static_cast<size_t>(inner))), 0);
  };
  return {Batched(is_vector ? result.squeeze(-1) : result, 0), Batched(factors.reshape(own), 0),
          restored(pivots, 1), restored(info, 2)};
}

std::tuple<> _linalg_check_errors(const Batched& info, std::string_view api_name, bool) {
  taeda::_linalg_check_errors(info.front().contiguous(), api_name, /*is_matrix=*/false);
  return {};
}

}  // namespace taeda::batch
