// LU factors with rows exchanged: a panel of columns by elimination, the rest by products.
#include "taeda/backends/cpu/factor/lu.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "taeda/backends/cpu/factor/triangular.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kEliminated = 32;

template <class T>
Real<T> magnitude(T x) {
  return std::abs(real_part(x)) + std::abs(imaginary_part(x));
}

template <class T>
void exchange_rows(Columns<T>& a, int64_t first, int64_t last, int64_t i, int64_t k) {
  if (i == k) return;
  for (int64_t j = first; j < last; ++j) std::swap(a.at(i, j), a.at(k, j));
}

// Columns `first` to `last`, rows from `first` on; the rows of other columns are not exchanged yet.
template <class T>
int32_t eliminate_panel(Columns<T>& a, int64_t first, int64_t last, std::vector<int32_t>& pivots) {
  int32_t info = 0;
  for (int64_t j = first; j < last; ++j) {
    T* column = a.column(j);
    int64_t largest = j;
    for (int64_t i = j + 1; i < a.rows; ++i)
      if (magnitude(column[i]) > magnitude(column[largest])) largest = i;
    pivots[j] = static_cast<int32_t>(largest + 1);
    if (column[largest] == T(0)) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    exchange_rows(a, first, last, j, largest);
    const T pivot = column[j];
    for (int64_t i = j + 1; i < a.rows; ++i) column[i] = column[i] / pivot;
    for (int64_t k = j + 1; k < last; ++k) {
      T* other = a.column(k);
      const T factor = other[j];
      for (int64_t i = j + 1; i < a.rows; ++i) other[i] -= column[i] * factor;
    }
  }
  return info;
}

template <class T>
void exchange_side_rows(Matrix<T> b, int64_t columns, const std::vector<int32_t>& pivots,
                        bool backwards) {
  const auto n = static_cast<int64_t>(pivots.size());
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = backwards ? n - 1 - step : step, k = pivots[i] - 1;
    if (i == k) continue;
    for (int64_t j = 0; j < columns; ++j)
      std::swap(b.data[i * b.row_stride + j * b.col_stride],
                b.data[k * b.row_stride + j * b.col_stride]);
  }
}

}  // namespace

template <class T>
int32_t factor_lu(Columns<T>& a, std::vector<int32_t>& pivots) {
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  pivots.assign(k, 0);
  int32_t info = 0;
  for (int64_t first = 0; first < k; first += kEliminated) {
    const int64_t last = std::min(first + kEliminated, k), size = last - first;
    const int32_t found = eliminate_panel(a, first, last, pivots);
    if (info == 0) info = found;
    for (int64_t i = first; i < last; ++i) {
      exchange_rows(a, 0, first, i, pivots[i] - 1);
      exchange_rows(a, last, n, i, pivots[i] - 1);
    }
    if (last == n) continue;
    solve_triangle<T>(size, n - last, a.read(first, first), /*is_upper=*/false, /*is_unit=*/true,
                      a.view(first, last));
    if (last < m)
      gemm<T>(m - last, n - last, size, T(-1), a.read(last, first), a.read(first, last), T(1),
              a.view(last, last));
  }
  return info;
}

template <class T>
void solve_with_factors(const Columns<T>& factors, const std::vector<int32_t>& pivots,
                        bool is_transposed, int64_t columns, Matrix<T> b) {
  const int64_t n = factors.rows;
  const Matrix<const T> a = factors.view(), turned{a.data, a.col_stride, a.row_stride};
  if (is_transposed) {
    solve_triangle<T>(n, columns, turned, /*is_upper=*/false, /*is_unit=*/false, b);
    solve_triangle<T>(n, columns, turned, /*is_upper=*/true, /*is_unit=*/true, b);
    return exchange_side_rows(b, columns, pivots, /*backwards=*/true);
  }
  exchange_side_rows(b, columns, pivots, /*backwards=*/false);
  solve_triangle<T>(n, columns, a, /*is_upper=*/false, /*is_unit=*/true, b);
  solve_triangle<T>(n, columns, a, /*is_upper=*/true, /*is_unit=*/false, b);
}

#define TAEDA_FACTOR_LU(T)                                                                        \
  template int32_t factor_lu(Columns<T>&, std::vector<int32_t>&);                                 \
  template void solve_with_factors(const Columns<T>&, const std::vector<int32_t>&, bool, int64_t, \
                                   Matrix<T>);
TAEDA_FACTOR_LU(float)
TAEDA_FACTOR_LU(double)
TAEDA_FACTOR_LU(Complex<float>)
TAEDA_FACTOR_LU(Complex<double>)
#undef TAEDA_FACTOR_LU

}  // namespace taeda::cpu
