// Scalar functions as functions of scalars and vectors: lane by lane, in their own precision.
//
// td_name_at takes and gives one number, in double for all floats where it has no overload.
#pragma once

#include "taeda/kernel/math.h"

TAEDA_MATH_BEGIN

template <class F>
constexpr bool td_is_number = false;
template <>
inline constexpr bool td_is_number<float> = true;
template <>
inline constexpr bool td_is_number<double> = true;
template <>
inline constexpr bool td_is_number<td_long> = true;
template <>
inline constexpr bool td_is_number<td_ulong> = true;

#define TD_CALLED(name)                                         \
  template <class F, class... G>                                \
  TD_FN F td_##name(F x, G... y) {                              \
    if constexpr (td_is_number<F>) {                            \
      return (F)td_##name##_at(x, y...);                        \
    } else {                                                    \
      F r = {};                                                 \
      for (int i = 0; i < (int)(sizeof(F) / sizeof(x[0])); ++i) \
        r[i] = td_##name##_at(x[i], y[i]...);                   \
      return r;                                                 \
    }                                                           \
  }

TAEDA_MATH_END
