// Pointwise operators on devices that compile: a body of the records over any strides and dtypes.
#pragma once

#include "taeda/ops/pointwise.h"
#include "taeda/ops/symbolic.h"

namespace taeda::lowered {

// The type in which elements of a dtype are computed with: truth values count as integers.
inline kernel::Type type_in(DType dtype) {
  return dtype == DType::Bool ? kernel::Type::I64 : kernel::compute_type(dtype);
}

// Computes `out` from inputs that broadcast to it, in the common dtype of the call.
TAEDA_API void run_pointwise(const SymbolicBody& body, const PointwiseOp& op, DType common,
                             const Tensor& out, Span<const Tensor*> inputs, Span<Scalar> scalars);

}  // namespace taeda::lowered
