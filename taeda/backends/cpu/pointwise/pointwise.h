// Runs pointwise kernels: strides, broadcasting, dtype conversion and threads around tiles.
#pragma once

#include "taeda/backends/cpu/pointwise/tiles.h"
#include "taeda/ops/pointwise.h"

namespace taeda::cpu {

// Computes `out` (any strides, any dtype that can hold the result) from inputs that broadcast to
// it. "ZeroDivisionError" where integers would be divided by zero, before anything is written.
TAEDA_API void run_pointwise(const PointwiseKernel& kernel, DType common, const Tensor& out,
                             Span<const Tensor*> inputs, Span<Scalar> scalars);
// The same where `out` and all inputs are contiguous and have one shape and the dtype `common`.
TAEDA_API void run_uniform(const PointwiseKernel& kernel, DType common, const Tensor& out,
                           Span<const Tensor*> inputs, Span<Scalar> scalars);
// Small plain tensors of one dtype and shape in one step: allocates the result and computes it.
// Undefined, with nothing done, where the inputs are anything else.
TAEDA_API Tensor run_alike(const PointwiseKernel& kernel, Span<const Tensor*> inputs,
                           Span<Scalar> scalars);

inline void run_pointwise(const PointwiseKernel& kernel, const PointwiseSpec& spec,
                          const Tensor& out, Span<const Tensor*> inputs, Span<Scalar> scalars) {
  const bool is_uniform =
      spec.is_uniform() && out.impl()->is_plain() && out.dtype() == spec.common();
  if (is_uniform)
    run_uniform(kernel, spec.common(), out, inputs, scalars);
  else
    run_pointwise(kernel, spec.common(), out, inputs, scalars);
}

struct NamedKernel {
  const char* name;
  const PointwiseKernel* kernel;
};
// All of them, in record order.
Span<NamedKernel> named_kernels();
// The tile of a symbolic body (ops/symbolic.h), which printed code must equal bit for bit. Null
// where there is none.
TAEDA_API TileFn find_tile(std::string_view body, ComputeType type);

// Whether some element is zero.
TAEDA_API bool has_zero(const Tensor& t);

}  // namespace taeda::cpu
