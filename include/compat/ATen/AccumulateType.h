// The type that sums of a type are kept in.
#pragma once

#include "ATen/core_names.h"

namespace at {

template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<::taeda::Half> {
  using type = float;
};
template <>
struct OpMathType<::taeda::BFloat16> {
  using type = float;
};
// The type in which elements of a type are computed.
template <class T>
using opmath_type = typename OpMathType<T>::type;

inline ScalarType toOpMathType(ScalarType type) {
  return type == kHalf || type == kBFloat16 ? kFloat : type;
}

template <class T, bool is_cuda>
struct AccumulateType {
  using type = std::conditional_t<
      std::is_integral_v<T>, int64_t,
      std::conditional_t<!is_cuda && std::is_same_v<T, float>, double, opmath_type<T>>>;
};
template <class T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;

}  // namespace at
