// Layer normalization and its gradients on the CPU, row by row.
#include <cmath>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/norm_rows.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::cpu {
namespace {

template <class T>
void forward(const Tensor& input, int64_t ndim, const Tensor& weight, const Tensor& bias,
             double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const NormRows<T> rows(input, ndim);
  const int64_t n = rows.length();
  const RowParameter<T> w(weight, n), b(bias, n);
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  const StoreFn store = store_fn(compute, out.dtype()),
                store_statistic = store_fn(compute, mean.dtype());
  const bool is_direct = out.dtype() == DTypeOf<T>::value;
  char *const to = static_cast<char*>(out.data()), *const means = static_cast<char*>(mean.data()),
              *const rstds = static_cast<char*>(rstd.data());
  const RowFns<T>& fns = row_fns<T>();
  parallel_for(0, rows.count(), row_grain(n), [&](int64_t first, int64_t last) {
    RowBuffer<T> in = row_buffer<T>(rows.is_plain() ? 0 : n),
                 made = row_buffer<T>(is_direct ? 0 : n);
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
void input_backward(const NormRows<T>& grad, const NormRows<T>& input, const T* mean, const T* rstd,
                    const T* weight, const Tensor& out) {
  const int64_t n = input.length(), item = out.element_size();
  const StoreFn store = store_fn(compute_type(DTypeOf<T>::value), out.dtype());
  const bool is_direct = out.dtype() == DTypeOf<T>::value;
  parallel_for(0, input.count(), row_grain(n), [&](int64_t first, int64_t last) {
    RowBuffer<T> x = row_buffer<T>(input.is_plain() ? 0 : n),
                 g = row_buffer<T>(grad.is_plain() ? 0 : n),
                 made = row_buffer<T>(is_direct ? 0 : n);
    for (int64_t r = first; r < last; ++r) {
      char* const at = static_cast<char*>(out.data()) + r * n * item;
      T* const to = is_direct ? reinterpret_cast<T*>(at) : made.get();
      row_fns<T>().normalize_backward(grad.get(r, 0, n, g.get()), input.get(r, 0, n, x.get()), to,
                                      n, mean[r], rstd[r], weight);
      if (!is_direct) store(reinterpret_cast<const char*>(to), Block{1, n, 0, item}, at);
    }
  });
}

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, int64_t ndim, const Tensor& mean,
              const Tensor& rstd, const Tensor& weight, const Tensor& grad_input,
              const Tensor& grad_weight, const Tensor& grad_bias) {
  const NormRows<T> grad(grad_out, ndim), x(input, ndim);
  const RowParameter<T> w(weight, x.length()), m(mean, x.count()), s(rstd, x.count());
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
