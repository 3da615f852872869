// The numbers of a pointwise call, as its tiles take them.
#pragma once

#include "taeda/backends/cpu/pointwise/tiles.h"
#include "taeda/base/span.h"
#include "taeda/core/scalar.h"

namespace taeda::cpu {

// The numbers of a call, one compute-type value each.
struct Numbers {
  alignas(16) char bytes[8 * 16];

  Numbers(ComputeType compute, Span<Scalar> values) {
    if (compute == ComputeType::F32) [[likely]]
      fill<float>(values);
    else
      fill_wider(compute, values);
  }

 private:
  [[gnu::noinline]] void fill_wider(ComputeType compute, Span<Scalar> values) {
    switch (compute) {
      case ComputeType::F64: fill<double>(values); break;
      case ComputeType::I64: fill<int64_t>(values); break;
      case ComputeType::U64: fill<uint64_t>(values); break;
      case ComputeType::C64: fill<Complex<float>>(values); break;
      default: fill<Complex<double>>(values);
    }
  }
  template <class T>
  void fill(Span<Scalar> values) {
    T* p = reinterpret_cast<T*>(bytes);
    for (const Scalar& s : values) *p++ = s.to<T>();
  }
};

}  // namespace taeda::cpu
