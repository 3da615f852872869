// reduce_run: a combining body over contiguous memory in the order of Note [Reduction tree].
#pragma once

#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/vec.h"

TAEDA_MATH_BEGIN

template <class Body, class T>
struct BodyCombine {
  TD_FN static typename Vec<T>::Raw apply(typename Vec<T>::Raw a, typename Vec<T>::Raw b) {
    return Body::apply(Vec<T>::from_raw(a), Vec<T>::from_raw(b)).raw;
  }
  TD_FN static T apply(T a, T b) {
    return Body::apply(Vec<One<T>>::from_raw(a), Vec<One<T>>::from_raw(b)).raw;
  }
};

template <class T>
struct ContiguousSource {
  const T* p;
  TD_FN T scalar(int64_t i) const { return p[i]; }
  TD_FN typename Vec<T>::Raw vector(int64_t i) const { return Vec<T>::load(p + i).raw; }
};

// Reduces n elements at p with Body::apply(V, V), an associative body with this identity. T is
// float, double, int64_t or uint64_t.
template <class Body, class T>
T reduce_run(const T* p, int64_t n, T identity) {
  return td_reduce_run<BodyCombine<Body, T>, typename Vec<T>::Raw, T>(ContiguousSource<T>{p}, n,
                                                                      identity);
}

TAEDA_MATH_END
