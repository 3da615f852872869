// Cholesky factors: a panel of columns by elimination, after the columns before it are subtracted
// by one product. Its operator.
#include "taeda/backends/cpu/factor/cholesky.h"

#include <algorithm>
#include <cmath>

#include "taeda/backends/cpu/factorizations_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kFactored = 32;

// Columns `first` to `last`, rows from the diagonal on.
template <class T>
int32_t eliminate_lower_panel(Columns<T>& a, int64_t first, int64_t last) {
  for (int64_t k = first; k < last; ++k) {
    T* column = a.column(k);
    const Real<T> pivot = real_part(column[k]);
    if (!(pivot > 0)) return static_cast<int32_t>(k + 1);
    const Real<T> root = std::sqrt(pivot);
    column[k] = T(root);
    for (int64_t i = k + 1; i < a.rows; ++i) column[i] = column[i] / T(root);
    for (int64_t j = k + 1; j < last; ++j) {
      T* other = a.column(j);
      const T factor = conjugate(column[j]);
      for (int64_t i = j; i < a.rows; ++i) other[i] -= column[i] * factor;
    }
  }
  return 0;
}

// Subtracts the columns before `first` from those up to `last`: A -= L L_block^H.
template <class T>
void subtract_columns_before(Columns<T>& a, int64_t first, int64_t last) {
  if (first == 0) return;
  const int64_t size = last - first;
  Columns<T> block(first, size);  // L_block^H
  for (int64_t j = 0; j < size; ++j)
    for (int64_t i = 0; i < first; ++i) block.at(i, j) = conjugate(a.at(first + j, i));
  gemm<T>(a.rows - first, size, first, T(-1), a.read(first, 0), block.read(), T(1),
          a.view(first, first));
}

// The matrix, or its adjoint.
template <class T>
void load_triangle(Columns<T>& to, Matrix<T> from, bool is_adjoint) {
  if (!is_adjoint) return to.load(from);
  to.load({from.data, from.col_stride, from.row_stride});
  for (T& x : to.data) x = conjugate(x);
}
template <class T>
void store_triangle(Columns<T>& from, Matrix<T> to, bool is_adjoint) {
  if (!is_adjoint) return from.store(to);
  for (T& x : from.data) x = conjugate(x);
  from.store({to.data, to.col_stride, to.row_stride});
}

}  // namespace

template <class T>
int32_t factor_cholesky(Columns<T>& a) {
  int32_t info = 0;
  for (int64_t first = 0; first < a.columns && info == 0; first += kFactored) {
    const int64_t last = std::min(first + kFactored, a.columns);
    subtract_columns_before(a, first, last);
    info = eliminate_lower_panel(a, first, last);
  }
  for (int64_t j = 1; j < a.columns; ++j) std::fill_n(a.column(j), std::min(j, a.rows), T(0));
  return info;
}

#define TAEDA_FACTOR_CHOLESKY(T) template int32_t factor_cholesky(Columns<T>&);
TAEDA_FACTOR_CHOLESKY(float)
TAEDA_FACTOR_CHOLESKY(double)
TAEDA_FACTOR_CHOLESKY(Complex<float>)
TAEDA_FACTOR_CHOLESKY(Complex<double>)
#undef TAEDA_FACTOR_CHOLESKY

void linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors, Tensor& L,
                        Tensor& info) {
  if (self.numel() == 0) {  // of any dtype, as in PyTorch
    BelowADInplaceOrView guard;
    info.zero_();
    return;
  }
  visit_factor_dtype(self.dtype(), "cholesky_cpu", [&](auto tag) {
    using T = decltype(tag);
    const Tensor input = apart_from(self, L);
    const IntList batch = batch_sizes(self, 2);
    const Matrices<T> from(input, batch), to(L, batch);
    const BatchOffsets at(info, 0, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(self.size(-2), self.size(-1));
      // The upper triangle is the adjoint of the lower one.
      load_triangle(matrix, from[i], upper);
      info.data<int32_t>()[at(i)] = factor_cholesky(matrix);
      store_triangle(matrix, to[i], upper);
    });
  });
  if (check_errors) _linalg_check_errors(info, "linalg.cholesky_ex", self.dim() == 2);
}

}  // namespace taeda::cpu
