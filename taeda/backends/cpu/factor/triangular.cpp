// Triangular equations, in blocks: the diagonal ones by substitution, the rest by products.
#include "taeda/backends/cpu/factor/triangular.h"

#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/factor/matrix_batch.h"
#include "taeda/backends/cpu/factorizations_declarations.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kSubstituted = 64;

// Rows `first` to `first + size` of X, where the rows that they depend on are already subtracted.
template <class T>
void substitute(int64_t first, int64_t size, int64_t columns, Matrix<const T> a, bool is_upper,
                bool is_unit, Matrix<T> b) {
  Columns<T> block(size, size);
  for (int64_t j = 0; j < size; ++j)
    for (int64_t i = 0; i < size; ++i)
      block.at(i, j) = a.data[(first + i) * a.row_stride + (first + j) * a.col_stride];
  const auto solve = [&](T* x) {
    for (int64_t step = 0; step < size; ++step) {
      const int64_t j = is_upper ? size - 1 - step : step;
      const T* column = block.column(j);
      if (!is_unit) x[j] = x[j] / column[j];
      const T value = x[j];
      const int64_t from = is_upper ? 0 : j + 1, to = is_upper ? j : size;
      for (int64_t i = from; i < to; ++i) x[i] -= column[i] * value;
    }
  };
  const int64_t grain = std::max<int64_t>(1, 32768 / (size * size));
  parallel_for(0, columns, grain, [&](int64_t begin, int64_t end) {
    T x[kSubstituted];
    for (int64_t c = begin; c < end; ++c) {
      T* at = b.data + first * b.row_stride + c * b.col_stride;
      for (int64_t i = 0; i < size; ++i) x[i] = at[i * b.row_stride];
      solve(x);
      for (int64_t i = 0; i < size; ++i) at[i * b.row_stride] = x[i];
    }
  });
}

template <class T>
Matrix<const T> part_of(Matrix<const T> m, int64_t i, int64_t j) {
  return {m.data + i * m.row_stride + j * m.col_stride, m.row_stride, m.col_stride};
}

}  // namespace

template <class T>
void solve_triangle(int64_t n, int64_t columns, Matrix<const T> a, bool is_upper, bool is_unit,
                    Matrix<T> b) {
  if (n == 0 || columns == 0) return;
  const int64_t blocks = (n + kSubstituted - 1) / kSubstituted;
  for (int64_t step = 0; step < blocks; ++step) {
    const int64_t first = (is_upper ? blocks - 1 - step : step) * kSubstituted;
    const int64_t size = std::min(kSubstituted, n - first);
    substitute(first, size, columns, a, is_upper, is_unit, b);
    const int64_t rest = is_upper ? 0 : first + size, count = is_upper ? first : n - rest;
    if (count == 0) continue;
    const Matrix<const T> solved{b.data + first * b.row_stride, b.row_stride, b.col_stride};
    const Matrix<T> left{b.data + rest * b.row_stride, b.row_stride, b.col_stride};
    gemm<T>(count, columns, size, T(-1), part_of(a, rest, first), solved, T(1), left);
  }
}

template void solve_triangle(int64_t, int64_t, Matrix<const float>, bool, bool, Matrix<float>);
template void solve_triangle(int64_t, int64_t, Matrix<const double>, bool, bool, Matrix<double>);
template void solve_triangle(int64_t, int64_t, Matrix<const Complex<float>>, bool, bool,
                             Matrix<Complex<float>>);
template void solve_triangle(int64_t, int64_t, Matrix<const Complex<double>>, bool, bool,
                             Matrix<Complex<double>>);

}  // namespace taeda::cpu
