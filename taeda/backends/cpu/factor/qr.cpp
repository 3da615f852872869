// The operators of QR factors.
#include <algorithm>

#include "taeda/backends/cpu/factor/householder.h"
#include "taeda/backends/cpu/factorizations_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

Tensor apart_from(const Tensor& input, const Tensor& out) {
  if (!out.is_alias_of(input)) return input;
  BelowADInplaceOrView guard;
  return input.clone();
}

void geqrf(const Tensor& self, Tensor& a, Tensor& tau) {
  const Tensor input = apart_from(apart_from(self, a), tau);
  visit_factor_dtype(self.dtype(), "geqrf_cpu", [&](auto tag) {
    using T = decltype(tag);
    const IntList batch = batch_sizes(self, 2);
    const Matrices<T> from(input, batch), to(a, batch);
    const Vectors<T> factors(tau, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(self.size(-2), self.size(-1));
      std::vector<T> numbers;
      matrix.load(from[i]);
      factor_qr(matrix, numbers);
      matrix.store(to[i]);
      factors.store(i, numbers);
    });
  });
}

void linalg_householder_product(const Tensor& input, const Tensor& tau, Tensor& out) {
  const Tensor vectors = apart_from(input, out), numbers = apart_from(tau, out);
  visit_factor_dtype(input.dtype(), "orgqr_cpu", [&](auto tag) {
    using T = decltype(tag);
    const IntList batch = batch_sizes(input, 2);
    const Matrices<T> from(vectors, batch), to(out, batch);
    const Vectors<T> factors(numbers, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(input.size(-2), input.size(-1)), q(matrix.rows, matrix.columns);
      matrix.load(from[i]);
      multiply_reflections(matrix, factors.load(i), q);
      q.store(to[i]);
    });
  });
}

void linalg_qr(const Tensor& A, std::string_view mode, Tensor& Q, Tensor& R) {
  const Tensor input = apart_from(apart_from(A, Q), R);
  const bool has_q = mode != "r";
  visit_factor_dtype(A.dtype(), "geqrf_cpu", [&](auto tag) {
    using T = decltype(tag);
    const IntList batch = batch_sizes(A, 2);
    const Matrices<T> from(input, batch), to_r(R, batch);
    std::optional<Matrices<T>> to_q;
    if (has_q) to_q.emplace(Q, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(A.size(-2), A.size(-1));
      std::vector<T> tau;
      matrix.load(from[i]);
      factor_qr(matrix, tau);
      Columns<T> r(R.size(-2), R.size(-1));
      for (int64_t j = 0; j < r.columns; ++j)
        std::copy_n(matrix.column(j), std::min(j + 1, std::min(r.rows, matrix.rows)), r.column(j));
      r.store(to_r[i]);
      if (!has_q) return;
      Columns<T> q(Q.size(-2), Q.size(-1));
      multiply_reflections(matrix, tau, q);
      q.store((*to_q)[i]);
    });
  });
}

}  // namespace taeda::cpu
