// The types in which elements are compared: four hold the values of every dtype that has an order,
// so that searches and sorts are compiled four times rather than once per dtype.
#pragma once

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

// The elements in the type in which they are compared, in one piece of memory.
inline Tensor ordering_values(const Tensor& t) {
  return t.to(compute_dtype(compute_type(t.dtype()))).contiguous();
}

// Calls f with a value-initialized C++ type of ordering_values(tensor of `dtype`), as visit_dtype
// does. Complex numbers have no order: nothing is called.
template <class F>
void visit_ordering(DType dtype, F&& f) {
  switch (compute_type(dtype)) {
    case ComputeType::F32: return f(float{});
    case ComputeType::F64: return f(double{});
    case ComputeType::I64: return f(int64_t{});
    case ComputeType::U64: return f(uint64_t{});
    default: return;
  }
}

}  // namespace taeda::cpu
