// The called functions over Vec, for bodies.
#pragma once

#include "taeda/kernel/called/float_parts.h"
#include "taeda/kernel/called/functions.h"
#include "taeda/kernel/called/gamma.h"
#include "taeda/kernel/called/integers.h"
#include "taeda/kernel/called/normal.h"
#include "taeda/kernel/called/polynomials.h"
#include "taeda/kernel/vec_real.h"

TAEDA_MATH_BEGIN

#define TAEDA_VEC_CALL_1(name)                 \
  template <class T>                           \
  TD_FN Vec<T> name(Vec<T> x) {                \
    return Vec<T>::from_raw(td_##name(x.raw)); \
  }
#define TAEDA_VEC_CALL_2(name)                        \
  template <class T>                                  \
  TD_FN Vec<T> name(Vec<T> x, Vec<T> y) {             \
    return Vec<T>::from_raw(td_##name(x.raw, y.raw)); \
  }
#define TAEDA_VEC_CALL_3(name)                               \
  template <class T>                                         \
  TD_FN Vec<T> name(Vec<T> x, Vec<T> y, Vec<T> z) {          \
    return Vec<T>::from_raw(td_##name(x.raw, y.raw, z.raw)); \
  }
#define TAEDA_VEC_CALL(id, name, arity, kinds, text) TAEDA_VEC_CALL_##arity(name)
TAEDA_CALLED_FUNCTIONS(TAEDA_VEC_CALL)
#undef TAEDA_VEC_CALL
#undef TAEDA_VEC_CALL_1
#undef TAEDA_VEC_CALL_2
#undef TAEDA_VEC_CALL_3

TAEDA_MATH_END
