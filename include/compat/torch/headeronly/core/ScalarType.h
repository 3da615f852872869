// torch::headeronly: the core's types by the names of PyTorch's header-only part.
#pragma once

#include "ATen/core_names.h"
#include "c10/util/Exception.h"

namespace torch::headeronly {
using namespace ::c10;
using IntHeaderOnlyArrayRef = ::taeda::IntList;
template <class T>
using HeaderOnlyArrayRef = ::taeda::Span<T>;
template <class T, size_t N, template <class> class Traits = ::taeda::DefaultPtrTraits,
          class Index = int64_t>
using HeaderOnlyTensorAccessor = ::taeda::TensorAccessor<T, N, Traits, Index>;
}  // namespace torch::headeronly

// ---- lists of (C++ type, name of the dtype) ----
#define AT_FORALL_INT_TYPES(X) \
  X(uint8_t, Byte)             \
  X(int8_t, Char)              \
  X(int16_t, Short)            \
  X(int, Int)                  \
  X(int64_t, Long)
#define AT_FORALL_SCALAR_TYPES(X) \
  AT_FORALL_INT_TYPES(X)          \
  X(float, Float)                 \
  X(double, Double)
#define AT_FORALL_COMPLEX_TYPES(X)         \
  X(::taeda::Complex<float>, ComplexFloat) \
  X(::taeda::Complex<double>, ComplexDouble)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(X) \
  AT_FORALL_SCALAR_TYPES(X)                    \
  AT_FORALL_COMPLEX_TYPES(X)                   \
  X(::taeda::Half, Half)                       \
  X(::taeda::BFloat16, BFloat16)               \
  X(bool, Bool)                                \
  X(::taeda::Float8E4M3, Float8_e4m3fn)        \
  X(::taeda::Float8E5M2, Float8_e5m2)
