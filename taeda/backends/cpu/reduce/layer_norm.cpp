// Layer normalization and its gradients on the CPU, row by row.
#include <cmath>
#include <memory>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/reduce_shape.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::cpu {
namespace {

// The trailing `ndim` dimensions of a tensor as rows in compute type T, in place where memory
// allows it.
template <class T>
class Rows {
 public:
  Rows(const Tensor& t, int64_t ndim)
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
using Buffer = std::unique_ptr<T[]>;
template <class T>
Buffer<T> buffer(int64_t n) {
  return std::make_unique_for_overwrite<T[]>(n);
}

// A vector argument in compute type; null where it is absent.
template <class T>
struct Parameter {
  Buffer<T> own;
  const T* data = nullptr;
  Parameter(const Tensor& t, int64_t n) {
    if (!t.defined()) return;
    const Rows<T> rows(t, t.dim());
    if (!rows.is_plain()) own = buffer<T>(n);
    data = rows.get(0, 0, n, own.get());
  }
};

int64_t row_grain(int64_t n) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)); }

template <class T>
void forward(const Tensor& input, int64_t ndim, const Tensor& weight, const Tensor& bias,
             double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Rows<T> rows(input, ndim);
  const int64_t n = rows.length();
  const Parameter<T> w(weight, n), b(bias, n);
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  const StoreFn store = store_fn(compute, out.dtype()),
                store_statistic = store_fn(compute, mean.dtype());
  const bool is_direct = out.dtype() == DTypeOf<T>::value;
  char *const to = static_cast<char*>(out.data()), *const means = static_cast<char*>(mean.data()),
              *const rstds = static_cast<char*>(rstd.data());
  const RowFns<T>& fns = row_fns<T>();
  parallel_for(0, rows.count(), row_grain(n), [&](int64_t first, int64_t last) {
    Buffer<T> in = buffer<T>(rows.is_plain() ? 0 : n), made = buffer<T>(is_direct ? 0 : n);
    for (int64_t r = first; r < last; ++r) {
      const T* x = rows.get(r, 0, n, in.get());
      const T m = fns.sum(x, n) / static_cast<T>(n);
      const T s = T(1) / std::sqrt(fns.sum_squared_deviations(x, n, m) / static_cast<T>(n) +
                                   static_cast<T>(eps));
      char* const at = to + r * n * out.element_size();
      T* const y = is_direct ? reinterpret_cast<T*>(at) : made.get();
      fns.normalize(x, y, n, m, s, w.data, b.data);
      const int64_t item = out.element_size();
      if (!is_direct) store(reinterpret_cast<const char*>(y), Block{1, n, 0, item}, at);
      store_statistic(reinterpret_cast<const char*>(&m), Block{1, 1, 0, 0},
                      means + r * mean.element_size());
      store_statistic(reinterpret_cast<const char*>(&s), Block{1, 1, 0, 0},
                      rstds + r * rstd.element_size());
    }
  });
}

template <class T>
void input_backward(const Rows<T>& grad, const Rows<T>& input, const T* mean, const T* rstd,
                    const T* weight, const Tensor& out) {
  const int64_t n = input.length(), item = out.element_size();
  const StoreFn store = store_fn(compute_type(DTypeOf<T>::value), out.dtype());
  const bool is_direct = out.dtype() == DTypeOf<T>::value;
  parallel_for(0, input.count(), row_grain(n), [&](int64_t first, int64_t last) {
    Buffer<T> x = buffer<T>(input.is_plain() ? 0 : n), g = buffer<T>(grad.is_plain() ? 0 : n),
              made = buffer<T>(is_direct ? 0 : n);
    for (int64_t r = first; r < last; ++r) {
      char* const at = static_cast<char*>(out.data()) + r * n * item;
      T* const to = is_direct ? reinterpret_cast<T*>(at) : made.get();
      row_fns<T>().normalize_backward(grad.get(r, 0, n, g.get()), input.get(r, 0, n, x.get()), to,
                                      n, mean[r], rstd[r], weight);
      if (!is_direct) store(reinterpret_cast<const char*>(to), Block{1, n, 0, item}, at);
    }
  });
}

// Column by column in strips: blocks of rows add up in T, blocks in double precision.
template <class T>
void affine_backward(const Rows<T>& grad, const Rows<T>& input, const T* mean, const T* rstd,
                     const Tensor& weight_grad, const Tensor& bias_grad) {
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

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, int64_t ndim, const Tensor& mean,
              const Tensor& rstd, const Tensor& weight, const Tensor& grad_input,
              const Tensor& grad_weight, const Tensor& grad_bias) {
  const Rows<T> grad(grad_out, ndim), x(input, ndim);
  const Parameter<T> w(weight, x.length()), m(mean, x.count()), s(rstd, x.count());
  if (grad_input.defined()) input_backward(grad, x, m.data, s.data, w.data, grad_input);
  if (grad_weight.defined() || grad_bias.defined())
    affine_backward(grad, x, m.data, s.data, grad_weight, grad_bias);
}

}  // namespace

void native_layer_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                       const Tensor& bias, double eps, Tensor& out0, Tensor& out1, Tensor& out2) {
  const int64_t ndim = static_cast<int64_t>(normalized_shape.size());
  if (input.dtype() == DType::Double)
    forward<double>(input, ndim, weight, bias, eps, out0, out1, out2);
  else
    forward<float>(input, ndim, weight, bias, eps, out0, out1, out2);
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    const Tensor& grad_out, const Tensor& input, SymIntList normalized_shape, const Tensor& mean,
    const Tensor& rstd, const Tensor& weight, const Tensor& bias, Span<bool> output_mask) {
  const auto results = impl::native_layer_norm_backward_meta(grad_out, input, normalized_shape,
                                                             mean, rstd, weight, bias, output_mask);
  const auto& [grad_input, grad_weight, grad_bias] = results;
  const int64_t ndim = static_cast<int64_t>(normalized_shape.size());
  if (input.dtype() == DType::Double)
    backward<double>(grad_out, input, ndim, mean, rstd, weight, grad_input, grad_weight, grad_bias);
  else
    backward<float>(grad_out, input, ndim, mean, rstd, weight, grad_input, grad_weight, grad_bias);
  return results;
}

}  // namespace taeda::cpu
