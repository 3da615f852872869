// Rows of the last dimensions of a tensor in compute type, for normalization over them.
#pragma once

#include <algorithm>
#include <memory>

#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/reduce_shape.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::cpu {

// The trailing `ndim` dimensions of a tensor as rows in compute type T, in place where memory
// allows it.
template <class T>
class NormRows {
 public:
  NormRows(const Tensor& t, int64_t ndim)
      : shape_(t, trailing(t, ndim), true, {}),
        source_(tile_source(t.dtype(), compute_type(DTypeOf<T>::value))),
        base_(static_cast<const char*>(t.data())),
        is_plain_(t.dtype() == DTypeOf<T>::value && t.is_contiguous()),
        length_(shape_.num_reduced) {
    // Rows in logical order: kept dimensions must not be sorted by stride.
    for (int64_t d = t.dim() - ndim - 1; d >= 0; --d)
      outer_.push_back({t.sizes()[d], t.strides()[d] * t.element_size()});
  }
  int64_t length() const { return length_; }
  int64_t count() const { return shape_.num_outputs; }
  bool is_plain() const { return is_plain_; }
  // Elements [first, first + n) of a row; `buffer` takes them where they are not in place.
  const T* get(int64_t row, int64_t first, int64_t n, T* buffer) const {
    if (is_plain_) return reinterpret_cast<const T*>(base_) + row * length_ + first;
    const char* at = base_;
    for (const auto& o : outer_) {
      at += row % o.size * o.in;
      row /= o.size;
    }
    shape_.fill(source_, at, first, n, reinterpret_cast<char*>(buffer), sizeof(T));
    return buffer;
  }

 private:
  static uint64_t trailing(const Tensor& t, int64_t ndim) {
    return ((uint64_t{1} << ndim) - 1) << (t.dim() - ndim);
  }
  ReduceShape shape_;
  TileSource source_;
  const char* base_;
  bool is_plain_;
  int64_t length_;
  SmallVector<ReduceShape::Reduced, 6> outer_;
};

template <class T>
using RowBuffer = std::unique_ptr<T[]>;
template <class T>
RowBuffer<T> row_buffer(int64_t n) {
  return std::make_unique_for_overwrite<T[]>(n);
}

// A vector argument in compute type; null where it is absent.
template <class T>
struct RowParameter {
  RowBuffer<T> own;
  const T* data = nullptr;
  RowParameter(const Tensor& t, int64_t n) {
    if (!t.defined()) return;
    const NormRows<T> rows(t, t.dim());
    if (!rows.is_plain()) own = row_buffer<T>(n);
    data = rows.get(0, 0, n, own.get());
  }
};

inline int64_t row_grain(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1));
}

// Gradients of weight and bias, either of which may be absent. Column by column in strips: blocks
// of rows add up in T, blocks in double precision.
template <class T>
void affine_backward(const NormRows<T>& grad, const NormRows<T>& input, const T* mean,
                     const T* rstd, const Tensor& weight_grad, const Tensor& bias_grad) {
  constexpr int64_t kStrip = 256, kBlock = 64;
  const int64_t n = input.length(), rows = input.count(), strips = (n + kStrip - 1) / kStrip;
  parallel_for(0, strips, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows * kStrip)),
               [&](int64_t first, int64_t last) {
                 alignas(64) T x[kStrip], g[kStrip], block_weight[kStrip], block_bias[kStrip];
                 double total_weight[kStrip], total_bias[kStrip];
                 for (int64_t s = first; s < last; ++s) {
                   const int64_t begin = s * kStrip, width = std::min(kStrip, n - begin);
                   std::fill_n(total_weight, width, 0.0);
                   std::fill_n(total_bias, width, 0.0);
                   for (int64_t r = 0; r < rows; r += kBlock) {
                     std::fill_n(block_weight, width, T(0));
                     std::fill_n(block_bias, width, T(0));
                     for (int64_t i = r; i < std::min(rows, r + kBlock); ++i)
                       row_fns<T>().accumulate_affine(
                           grad.get(i, begin, width, g), input.get(i, begin, width, x), width,
                           mean[i], rstd[i], weight_grad.defined() ? block_weight : nullptr,
                           bias_grad.defined() ? block_bias : nullptr);
                     for (int64_t j = 0; j < width; ++j) {
                       total_weight[j] += block_weight[j];
                       total_bias[j] += block_bias[j];
                     }
                   }
                   auto write = [&](const Tensor& to, const double* from) {
                     if (!to.defined()) return;
                     const int64_t item = to.element_size();
                     store_fn(ComputeType::F64, to.dtype())(
                         reinterpret_cast<const char*>(from), Block{1, width, 0, item},
                         static_cast<char*>(to.data()) + begin * item);
                   };
                   write(weight_grad, total_weight);
                   write(bias_grad, total_bias);
                 }
               });
}

}  // namespace taeda::cpu
