// What embedding_bag and its gradients share: types of rows, and how rows are read and added.
#pragma once

#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/index/index_plan.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

template <class F>
void visit_rows(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float: return f(float{}, float{});
    case DType::Double: return f(double{}, double{});
    case DType::Half: return f(Half{}, float{});
    case DType::BFloat16: return f(BFloat16{}, float{});
    default: fail(ErrorKind::NotImplemented, "\"embedding_bag\" not implemented for '", dtype, "'");
  }
}

inline int64_t bag_grain(int64_t width) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(width, 1));
}

inline std::vector<int64_t> values_of(const Tensor& t) {
  return wrapped_offsets(int64_index(t), 0, 1);
}

// The rows of a matrix in memory.
template <class T>
struct Rows {
  T* data;
  int64_t width, pitch, step;

  explicit Rows(const Tensor& t)
      : data(static_cast<T*>(t.data())),
        width(t.sizes()[1]),
        pitch(t.strides()[0]),
        step(t.strides()[1]) {}
  T* operator[](int64_t row) const { return data + row * pitch; }

  // f(column, element) for all of a row, in a loop that compiles to vectors where it is dense.
  template <class F>
  void each(int64_t row, F&& f) const {
    T* const from = (*this)[row];
    if (step == 1)
      for (int64_t k = 0; k < width; ++k) f(k, from[k]);
    else
      for (int64_t k = 0; k < width; ++k) f(k, from[k * step]);
  }
  // Asks for the memory of a row that is read soon: rows stand anywhere in a table.
  void expect(int64_t row) const {
    const char* const from = reinterpret_cast<const char*>((*this)[row]);
    const int64_t bytes = std::min<int64_t>(width * static_cast<int64_t>(sizeof(T)), 1024);
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at);
  }
};

}  // namespace taeda::cpu
