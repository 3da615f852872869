// Softmax, log_softmax and their gradients on the CPU, over lines of any strides.
#include <memory>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/line_kernels.h"
#include "taeda/backends/cpu/reduce/lines.h"

namespace taeda::cpu {
namespace {

template <class T>
bool is_plain(const Tensor& t, int64_t along) {
  return t.dtype() == DTypeOf<T>::value && along == static_cast<int64_t>(sizeof(T));
}

// Inputs come before the output; row(const T* const* inputs, T* out, n).
template <class T, int kInputs, class RowFn>
void run_lines(Span<const Tensor*> tensors, int64_t dim, RowFn&& row) {
  if (tensors[kInputs]->numel() == 0) return;
  const LineSpace space(tensors, dim);
  const int64_t n = space.length[0];
  bool is_direct[kInputs + 1];
  bool is_all_direct = true;
  LoadFn load[kInputs];
  for (int k = 0; k <= kInputs; ++k)
    is_all_direct &= is_direct[k] = n == 1 ? tensors[k]->dtype() == DTypeOf<T>::value
                                           : is_plain<T>(*tensors[k], space.along[k]);
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  for (int k = 0; k < kInputs; ++k) load[k] = load_fn(tensors[k]->dtype(), compute);
  const StoreFn store = store_fn(compute, tensors[kInputs]->dtype());
  const int64_t max_lines = panel_lines(space, sizeof(T));
  for_panels(space, max_lines, 4 * n, [&](auto&& panels) {
    std::unique_ptr<T[]> buffers[kInputs + 1];
    for (int k = 0; k <= kInputs; ++k)
      if (!is_direct[k]) buffers[k] = std::make_unique_for_overwrite<T[]>(max_lines * n);
    panels([&](char* const* at, int64_t lines) {
      for (int k = 0; k < kInputs; ++k)
        if (!is_direct[k])
          load_lines(load[k], at[k], lines, n, space.outer[0].stride[k], space.along[k],
                     buffers[k].get());
      for (int64_t l = 0; l < lines; ++l) {
        auto line = [&](int k) {
          return is_direct[k] ? reinterpret_cast<T*>(at[k] + l * space.outer[0].stride[k])
                              : buffers[k].get() + l * n;
        };
        const T* inputs[kInputs];
        for (int k = 0; k < kInputs; ++k) inputs[k] = line(k);
        row(inputs, line(kInputs), n);
      }
      if (!is_direct[kInputs])
        store_lines(store, buffers[kInputs].get(), lines, n, space.outer[0].stride[kInputs],
                    space.along[kInputs], at[kInputs]);
    });
  });
}

template <class T>
void forward(bool is_log, const Tensor& self, int64_t dim, const Tensor& out) {
  const Tensor* const tensors[] = {&self, &out};
  const auto fn = is_log ? row_fns<T>().log_softmax : row_fns<T>().softmax;
  run_lines<T, 1>(tensors, dim, [&](const T* const* in, T* to, int64_t n) { fn(in[0], to, n); });
}

template <class T>
void backward(bool is_log, const Tensor& grad, const Tensor& output, int64_t dim,
              const Tensor& out) {
  const Tensor* const tensors[] = {&grad, &output, &out};
  const auto fn = is_log ? row_fns<T>().log_softmax_backward : row_fns<T>().softmax_backward;
  run_lines<T, 2>(tensors, dim,
                  [&](const T* const* in, T* to, int64_t n) { fn(in[0], in[1], to, n); });
}

void softmax_forward(bool is_log, const Tensor& self, int64_t dim, const Tensor& out) {
  dim = wrap_dim(dim, self.dim());
  if (self.dtype() == DType::Double)
    forward<double>(is_log, self, dim, out);
  else
    forward<float>(is_log, self, dim, out);
}

void softmax_backward(bool is_log, const Tensor& grad, const Tensor& output, int64_t dim,
                      const Tensor& out) {
  dim = wrap_dim(dim, grad.dim());
  if (grad.dtype() == DType::Double)
    backward<double>(is_log, grad, output, dim, out);
  else
    backward<float>(is_log, grad, output, dim, out);
}

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, Tensor& out) {
  softmax_forward(false, self, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, Tensor& out) {
  softmax_forward(true, self, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                            Tensor& out) {
  softmax_backward(false, grad_output, output, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                Tensor& out) {
  softmax_backward(true, grad_output, output, dim, out);
}

}  // namespace taeda::cpu
