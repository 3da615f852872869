// Normalization by the root of the mean square and its gradients on the CPU, row by row.
#include <cmath>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/norm_rows.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/root_mean_square.h"

namespace taeda::cpu {
namespace {

template <class T>
void forward(const Tensor& input, int64_t ndim, const Tensor& weight, double eps, Tensor& out,
             Tensor& rstd) {
  const NormRows<T> rows(input, ndim);
  const int64_t n = rows.length(), item = out.element_size();
  const RowParameter<T> w(weight, n);
  const StoreFn store = store_fn(compute_type(DTypeOf<T>::value), out.dtype());
  const bool is_direct = out.dtype() == DTypeOf<T>::value;
  T* const roots = static_cast<T*>(rstd.data());
  const RowFns<T>& fns = row_fns<T>();
  parallel_for(0, rows.count(), row_grain(n), [&](int64_t first, int64_t last) {
    RowBuffer<T> in = row_buffer<T>(rows.is_plain() ? 0 : n),
                 made = row_buffer<T>(is_direct ? 0 : n);
    for (int64_t r = first; r < last; ++r) {
      const T* const x = rows.get(r, 0, n, in.get());
      roots[r] = T(1) / std::sqrt(fns.sum_squared_deviations(x, n, T(0)) / static_cast<T>(n) +
                                  static_cast<T>(eps));
      char* const at = static_cast<char*>(out.data()) + r * n * item;
      T* const y = is_direct ? reinterpret_cast<T*>(at) : made.get();
      fns.normalize(x, y, n, T(0), roots[r], w.data, nullptr);
      if (!is_direct) store(reinterpret_cast<const char*>(y), Block{1, n, 0, item}, at);
    }
  });
}

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, int64_t ndim, const Tensor& rstd,
              const Tensor& weight, const Tensor& grad_input, const Tensor& grad_weight) {
  const NormRows<T> grad(grad_out, ndim), x(input, ndim);
  const int64_t n = x.length();
  const RowParameter<T> w(weight, n), roots(rstd, x.count());
  if (grad_input.defined()) {
    const int64_t item = grad_input.element_size();
    const StoreFn store = store_fn(compute_type(DTypeOf<T>::value), grad_input.dtype());
    const bool is_direct = grad_input.dtype() == DTypeOf<T>::value;
    parallel_for(0, x.count(), row_grain(n), [&](int64_t first, int64_t last) {
      RowBuffer<T> values = row_buffer<T>(x.is_plain() ? 0 : n),
                   grads = row_buffer<T>(grad.is_plain() ? 0 : n),
                   made = row_buffer<T>(is_direct ? 0 : n);
      for (int64_t r = first; r < last; ++r) {
        char* const at = static_cast<char*>(grad_input.data()) + r * n * item;
        T* const to = is_direct ? reinterpret_cast<T*>(at) : made.get();
        row_fns<T>().scale_backward(grad.get(r, 0, n, grads.get()), x.get(r, 0, n, values.get()),
                                    to, n, roots.data[r], w.data);
        if (!is_direct) store(reinterpret_cast<const char*>(to), Block{1, n, 0, item}, at);
      }
    });
  }
  if (grad_weight.defined()) {
    const RowBuffer<T> zeros = std::make_unique<T[]>(x.count());
    affine_backward<T>(grad, x, zeros.get(), roots.data, grad_weight, Tensor());
  }
}

}  // namespace

void _fused_rms_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                     std::optional<double> eps, Tensor& out0, Tensor& out1) {
  const auto run = input.dtype() == DType::Double ? &forward<double> : &forward<float>;
  run(input, static_cast<int64_t>(normalized_shape.size()), weight,
      normalization::rms_epsilon(input.dtype(), eps), out0, out1);
}

std::tuple<Tensor, Tensor> _fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                    SymIntList normalized_shape, const Tensor& rstd,
                                                    const Tensor& weight, Span<bool> output_mask) {
  const auto results = impl::_fused_rms_norm_backward_meta(grad_out, input, normalized_shape, rstd,
                                                           weight, output_mask);
  const auto& [grad_input, grad_weight] = results;
  const auto run = input.dtype() == DType::Double ? &backward<double> : &backward<float>;
  run(grad_out, input, static_cast<int64_t>(normalized_shape.size()), rstd, weight, grad_input,
      grad_weight);
  return results;
}

}  // namespace taeda::cpu
