// QR factors as reflections: a panel of columns one by one, the rest a block at a time.
#include "taeda/backends/cpu/factor/householder.h"

#include <algorithm>
#include <cmath>

namespace taeda::cpu {
namespace {

constexpr int64_t kReflected = 32;

// The length of a vector, without overflow of squares.
template <class T>
double length_of(const T* x, int64_t n, double largest) {
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double re = static_cast<double>(real_part(x[i])) / largest;
    const double im = static_cast<double>(imaginary_part(x[i])) / largest;
    sum += re * re + im * im;
  }
  return largest * std::sqrt(sum);
}

template <class T>
double largest_part(const T* x, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double re = std::abs(static_cast<double>(real_part(x[i])));
    const double im = std::abs(static_cast<double>(imaginary_part(x[i])));
    if (std::isnan(re) || std::isnan(im)) return std::nan("");
    largest = std::max({largest, re, im});
  }
  return largest;
}

template <class T>
T number(double re, double im);
template <>
float number(double re, double) {
  return static_cast<float>(re);
}
template <>
double number(double re, double) {
  return re;
}
template <>
Complex<float> number(double re, double im) {
  return {static_cast<float>(re), static_cast<float>(im)};
}
template <>
Complex<double> number(double re, double im) {
  return {re, im};
}

// Makes the reflection that turns x (n numbers) into one of x[0] alone, which becomes real; the
// vector takes the place of the others. Returns tau.
template <class T>
T make_reflection(T* x, int64_t n) {
  const double re = static_cast<double>(real_part(x[0])),
               im = static_cast<double>(imaginary_part(x[0]));
  const double below = largest_part(x + 1, n - 1);
  if (below == 0 && im == 0) return T(0);
  const double length = length_of(x, n, std::max({below, std::abs(re), std::abs(im)}));
  const double beta = std::isnan(below) ? below : std::copysign(length, -re);
  const T divisor = number<T>(re - beta, im);
  for (int64_t i = 1; i < n; ++i) x[i] = x[i] / divisor;
  x[0] = number<T>(beta, 0);
  return number<T>((beta - re) / beta, -im / beta);
}

// Columns `first` to `last`, reflected one after the other.
template <class T>
void reflect_panel(Columns<T>& a, int64_t first, int64_t last, std::vector<T>& tau) {
  for (int64_t j = first; j < last; ++j) {
    T* v = a.column(j) + j;
    const int64_t n = a.rows - j;
    tau[j] = make_reflection(v, n);
    if (tau[j] == T(0)) continue;
    const T factor = conjugate(tau[j]);
    for (int64_t k = j + 1; k < last; ++k) {
      T* x = a.column(k) + j;
      T along = x[0];
      for (int64_t i = 1; i < n; ++i) along += conjugate(v[i]) * x[i];
      along = along * factor;
      x[0] -= along;
      for (int64_t i = 1; i < n; ++i) x[i] -= v[i] * along;
    }
  }
}

// Reflections `first` to `last` as I - V T V^H, on rows from `first` on.
template <class T>
class ReflectionBlock {
 public:
  ReflectionBlock(const Columns<T>& a, const std::vector<T>& tau, int64_t first, int64_t last)
      : rows_(a.rows - first),
        size_(last - first),
        v_(rows_, size_),
        vh_(rows_, size_),
        t_(size_, size_) {
    for (int64_t j = 0; j < size_; ++j) {
      v_.at(j, j) = T(1);
      const T* from = a.column(first + j) + first;
      std::copy(from + j + 1, from + rows_, v_.column(j) + j + 1);
      for (int64_t i = 0; i < rows_; ++i) vh_.at(i, j) = conjugate(v_.at(i, j));
    }
    make_triangle(tau.data() + first);
  }
  // C := (I - V T V^H) C, or with the adjoint of T.
  void apply(Matrix<T> c, int64_t columns, bool adjoint) const {
    if (columns == 0) return;
    Columns<T> inner(size_, columns), turned(size_, columns);
    const Matrix<const T> read{c.data, c.row_stride, c.col_stride};
    gemm<T>(size_, columns, rows_, T(1), transposed(vh_), read, T(0), inner.view());
    Columns<T> t = t_;
    if (adjoint)
      for (T& x : t.data) x = conjugate(x);
    gemm<T>(size_, columns, size_, T(1), adjoint ? transposed(t) : t.read(), inner.read(), T(0),
            turned.view());
    gemm<T>(rows_, columns, size_, T(-1), v_.view(), turned.read(), T(1), c);
  }

 private:
  static Matrix<const T> transposed(const Columns<T>& m) { return {m.data.data(), m.rows, 1}; }

  void make_triangle(const T* tau) {
    Columns<T> products(size_, size_);
    gemm<T>(size_, size_, rows_, T(1), transposed(vh_), v_.read(), T(0), products.view());
    for (int64_t j = 0; j < size_; ++j) {
      t_.at(j, j) = tau[j];
      for (int64_t i = 0; i < j; ++i) {
        T sum(0);
        for (int64_t k = i; k < j; ++k) sum += t_.at(i, k) * products.at(k, j);
        t_.at(i, j) = -(tau[j] * sum);
      }
    }
  }

  int64_t rows_, size_;
  Columns<T> v_, vh_, t_;
};

}  // namespace

template <class T>
void factor_qr(Columns<T>& a, std::vector<T>& tau) {
  const int64_t k = std::min(a.rows, a.columns);
  tau.assign(k, T(0));
  for (int64_t first = 0; first < k; first += kReflected) {
    const int64_t last = std::min(first + kReflected, k);
    reflect_panel(a, first, last, tau);
    if (last < a.columns)
      ReflectionBlock<T>(a, tau, first, last)
          .apply(a.view(first, last), a.columns - last, /*adjoint=*/true);
  }
}

template <class T>
void multiply_reflections(const Columns<T>& vectors, const std::vector<T>& tau, Columns<T>& q) {
  std::fill(q.data.begin(), q.data.end(), T(0));
  for (int64_t j = 0; j < std::min(q.rows, q.columns); ++j) q.at(j, j) = T(1);
  const auto k = static_cast<int64_t>(tau.size());
  for (int64_t block = (k + kReflected - 1) / kReflected; block-- > 0;) {
    const int64_t first = block * kReflected, last = std::min(first + kReflected, k);
    // Columns before the block are still those of the identity, which it does not reach.
    ReflectionBlock<T>(vectors, tau, first, last)
        .apply(q.view(first, first), q.columns - first, /*adjoint=*/false);
  }
}

#define TAEDA_FACTOR_QR(T)                               \
  template void factor_qr(Columns<T>&, std::vector<T>&); \
  template void multiply_reflections(const Columns<T>&, const std::vector<T>&, Columns<T>&);
TAEDA_FACTOR_QR(float)
TAEDA_FACTOR_QR(double)
TAEDA_FACTOR_QR(Complex<float>)
TAEDA_FACTOR_QR(Complex<double>)
#undef TAEDA_FACTOR_QR

}  // namespace taeda::cpu
