// Matrices of a batch, one after the other, as the factorizations read and write them.
#pragma once

#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/gemm/gemm.h"
#include "taeda/base/parallel.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Calls f with a value of the element type; NotImplementedError for types without factorizations.
template <class F>
void visit_factor_dtype(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::ComplexFloat: return f(Complex<float>{});
    case DType::ComplexDouble: return f(Complex<double>{});
    default: fail(ErrorKind::NotImplemented, "\"", op, "\" not implemented for '", t, "'");
  }
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
T conjugate(T x) {
  return x;
}
template <class T>
Complex<T> conjugate(Complex<T> x) {
  return x.conj();
}
template <class T>
T real_part(T x) {
  return x;
}
template <class T>
T real_part(Complex<T> x) {
  return x.re;
}
template <class T>
T imaginary_part(T) {
  return 0;
}
template <class T>
T imaginary_part(Complex<T> x) {
  return x.im;
}

// Where the items of a batch start: a tensor's dimensions but the last `inner`, broadcast to
// `batch`.
class BatchOffsets {
 public:
  BatchOffsets(const Tensor& t, int64_t inner, IntList batch) : batch_(batch.begin(), batch.end()) {
    const int64_t own = t.dim() - inner, missing = static_cast<int64_t>(batch.size()) - own;
    for (int64_t d = 0; d < static_cast<int64_t>(batch.size()); ++d) {
      const int64_t at = d - missing;
      strides_.push_back(at < 0 || t.sizes()[at] == 1 ? 0 : t.strides()[at]);
    }
  }
  int64_t operator()(int64_t index) const {
    int64_t offset = 0;
    for (size_t d = batch_.size(); d-- > 0;) {
      offset += index % batch_[d] * strides_[d];
      index /= batch_[d];
    }
    return offset;
  }

 private:
  IntVec batch_, strides_;
};

inline IntList batch_sizes(const Tensor& t, int64_t inner) {
  return IntList(t.sizes().data(), static_cast<size_t>(t.dim() - inner));
}
inline int64_t count_of(IntList sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

// The matrices in the last two dimensions of a tensor.
template <class T>
class Matrices {
 public:
  Matrices(const Tensor& t, IntList batch)
      : data_(static_cast<T*>(t.data())),
        row_stride_(t.strides()[t.dim() - 2]),
        col_stride_(t.strides()[t.dim() - 1]),
        offsets_(t, 2, batch) {}
  Matrix<T> operator[](int64_t i) const { return {data_ + offsets_(i), row_stride_, col_stride_}; }

 private:
  T* data_;
  int64_t row_stride_, col_stride_;
  BatchOffsets offsets_;
};

// The vectors in the last dimension of a tensor.
template <class T>
class Vectors {
 public:
  Vectors(const Tensor& t, IntList batch)
      : data_(static_cast<T*>(t.data())),
        stride_(t.strides()[t.dim() - 1]),
        size_(t.sizes()[t.dim() - 1]),
        offsets_(t, 1, batch) {}
  std::vector<T> load(int64_t i) const {
    std::vector<T> values(size_);
    for (int64_t k = 0; k < size_; ++k) values[k] = data_[offsets_(i) + k * stride_];
    return values;
  }
  void store(int64_t i, const std::vector<T>& values) const {
    for (int64_t k = 0; k < size_; ++k) data_[offsets_(i) + k * stride_] = values[k];
  }

 private:
  T* data_;
  int64_t stride_, size_;
  BatchOffsets offsets_;
};

// A matrix of its own memory, column after column.
template <class T>
struct Columns {
  int64_t rows, columns;
  std::vector<T> data;

  Columns(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), data(static_cast<size_t>(rows * columns)) {}
  T* column(int64_t j) { return data.data() + j * rows; }
  const T* column(int64_t j) const { return data.data() + j * rows; }
  T& at(int64_t i, int64_t j) { return data[i + j * rows]; }
  Matrix<T> view(int64_t i = 0, int64_t j = 0) { return {data.data() + i + j * rows, 1, rows}; }
  Matrix<const T> view(int64_t i = 0, int64_t j = 0) const {
    return {data.data() + i + j * rows, 1, rows};
  }
  Matrix<const T> read(int64_t i = 0, int64_t j = 0) const { return view(i, j); }

  void load(Matrix<T> from) {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        at(i, j) = from.data[i * from.row_stride + j * from.col_stride];
  }
  void store(Matrix<T> to) const {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        to.data[i * to.row_stride + j * to.col_stride] = data[i + j * rows];
  }
};

// Runs f(i) for every matrix of a batch: one per thread where there are enough, else one after the
// other, each shared by the threads.
template <class F>
void for_matrices(int64_t batch, F&& f) {
  const auto run = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) f(i);
  };
  if (batch < num_threads()) return run(0, batch);
  parallel_for(0, batch, 1, run);
}

// The input itself, or a copy where an output that is written before all is read lies in its
// memory.
Tensor apart_from(const Tensor& input, const Tensor& out);

}  // namespace taeda::cpu
