// Functions of one number that have no body, over the elements of a tensor.
#pragma once

#include <type_traits>

#include "taeda/backends/cpu/pointwise/element_walk.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

// out = f(x) in double precision, for results in float and double.
template <class F>
void for_each_value(const Tensor& x, Tensor& out, int64_t cost, F&& f) {
  const Tensor values = x.to(out.dtype());
  LoopNest nest;
  nest.add(out, out.sizes());
  nest.add(values, out.sizes());
  nest.finish(out.sizes());
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      for_elements(nest, cost, [&](char* const* at) {
        const double value = *reinterpret_cast<const T*>(at[1]);
        *reinterpret_cast<T*>(at[0]) = static_cast<T>(f(value));
      });
  });
}

}  // namespace taeda::cpu
