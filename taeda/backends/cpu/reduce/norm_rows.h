// Rows of the last dimensions of a tensor in compute type, for normalization over them.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/reduce_shape.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::cpu {

// The trailing `ndim` dimensions of a tensor as rows in compute type T, in place where memory
// allows it. Rows whose neighbours lie apart are copied at once, by blocks: one by one they would
// take a line of the cache per element.
template <class T>
class NormRows {
 public:
  NormRows(const Tensor& given, int64_t ndim)
      : tensor_(has_dense_rows(given) ? given : given.contiguous()),
        shape_(tensor_, trailing(tensor_, ndim), true, {}),
        source_(tile_source(tensor_.dtype(), compute_type(DTypeOf<T>::value))),
        base_(static_cast<const char*>(tensor_.data())),
        is_plain_(tensor_.dtype() == DTypeOf<T>::value && tensor_.is_contiguous()),
        length_(shape_.num_reduced) {
    // Rows in logical order: kept dimensions must not be sorted by stride.
    for (int64_t d = tensor_.dim() - ndim - 1; d >= 0; --d)
      outer_.push_back({tensor_.sizes()[d], tensor_.strides()[d] * tensor_.element_size()});
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
  static bool has_dense_rows(const Tensor& t) {
    return t.dim() == 0 || t.strides().back() <= 1 || t.sizes().back() == 1;
  }
  static uint64_t trailing(const Tensor& t, int64_t ndim) {
    return ((uint64_t{1} << ndim) - 1) << (t.dim() - ndim);
  }
  Tensor tensor_;
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
  Tensor dense;  // which `data` may point into
  RowBuffer<T> own;
  const T* data = nullptr;
  RowParameter(const Tensor& t, int64_t n) {
    if (!t.defined()) return;
    dense = t.contiguous();
    const NormRows<T> rows(dense, dense.dim());
    if (!rows.is_plain()) own = row_buffer<T>(n);
    data = rows.get(0, 0, n, own.get());
  }
};

template <class T>
StoreFn store_to(const Tensor& t) {
  return store_fn(compute_type(DTypeOf<T>::value), t.dtype());
}

inline int64_t row_grain(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1));
}

// Sums of columns in the order of Note [Reduction tree], which has a lane for a row of each chunk.
template <class T>
class ColumnSums {
 public:
  static constexpr int64_t kWidth = 256;

  // Where the row is added.
  T* lane(int64_t row) { return lanes_ + row % kLanes * kWidth; }
  // Joins the lanes behind the last row of a chunk.
  void end_chunk() {
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half * kWidth; ++i) lanes_[i] += lanes_[half * kWidth + i];
    size_t depth = 0;
    for (int64_t bits = count_++; bits & 1; bits >>= 1) add_to(levels_[depth++], lanes_);
    if (depth == levels_.size()) levels_.emplace_back();
    std::copy_n(lanes_, kWidth, levels_[depth].data());
    std::fill_n(lanes_, kLanes * kWidth, T(0));
  }
  // The sums of at least one chunk; begins again.
  const T* finish() {
    size_t depth = 0;
    while (!(count_ >> depth & 1)) ++depth;
    std::copy_n(levels_[depth].data(), kWidth, result_);
    for (++depth; count_ >> depth != 0; ++depth)
      if (count_ >> depth & 1) add_to(levels_[depth], result_);
    count_ = 0;
    return result_;
  }

 private:
  static constexpr int kLanes = kernel::kReduceLanes<T>;
  static void add_to(const std::array<T, kWidth>& left, T* to) {
    for (int64_t i = 0; i < kWidth; ++i) to[i] = left[i] + to[i];
  }

  alignas(64) T lanes_[kLanes * kWidth] = {}, result_[kWidth];
  std::vector<std::array<T, kWidth>> levels_;
  int64_t count_ = 0;
};

// Gradients of weight and bias, either of which may be absent, column by column in strips.
template <class T>
void affine_backward(const NormRows<T>& grad, const NormRows<T>& input, const T* mean,
                     const T* rstd, const Tensor& weight_grad, const Tensor& bias_grad) {
  constexpr int64_t kStrip = ColumnSums<T>::kWidth;
  const int64_t n = input.length(), rows = input.count(), strips = (n + kStrip - 1) / kStrip;
  const StoreFn store_weight = weight_grad.defined() ? store_to<T>(weight_grad) : nullptr,
                store_bias = bias_grad.defined() ? store_to<T>(bias_grad) : nullptr;
  const auto run = [&](int64_t first, int64_t last) {
    alignas(64) T x[kStrip], g[kStrip];
    ColumnSums<T> by_weight, by_bias;
    for (int64_t s = first; s < last; ++s) {
      const int64_t begin = s * kStrip, width = std::min(kStrip, n - begin);
      int64_t r = 0;
      do {
        const int64_t end = std::min<int64_t>(rows, r + kernel::kReduceChunk);
        for (; r < end; ++r)
          row_fns<T>().accumulate_affine(
              grad.get(r, begin, width, g), input.get(r, begin, width, x), width, mean[r], rstd[r],
              store_weight ? by_weight.lane(r) : nullptr, store_bias ? by_bias.lane(r) : nullptr);
        by_weight.end_chunk();
        by_bias.end_chunk();
      } while (r < rows);
      const auto write = [&](StoreFn store, const Tensor& to, ColumnSums<T>& sums) {
        const char* from = reinterpret_cast<const char*>(sums.finish());
        if (!store) return;
        const int64_t item = to.element_size();
        store(from, Block{1, width, 0, item}, static_cast<char*>(to.data()) + begin * item);
      };
      write(store_weight, weight_grad, by_weight);
      write(store_bias, bias_grad, by_bias);
    }
  };
  parallel_for(0, strips, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows * kStrip)), run);
}

}  // namespace taeda::cpu
