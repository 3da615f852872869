// The vocabulary of a body: arithmetic written once over its value type V.
//
//   struct Silu {
//     template <class V>
//     static V apply(V x) { return x / (V(1.0) + exp(-x)); }
//   };
//
// A body is a struct with a static function template `apply` over one type V. Parameters are V,
// MaskOf<V> (a truth value), RealOf<V> (the real partner of a complex V, V itself otherwise) or
// Uniform<V> (one number for the whole call); the result is V, MaskOf<V> or RealOf<V>. No branches
// on values, constants as V(0.5), functions by their plain names. V is Vec<T> in eager kernels and
// Sym where the compiler reads the body. `static constexpr int kCost` says how many additions an
// element is about worth, where it is many: threads share fewer elements then.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

template <class V>
using MaskOf = typename V::MaskType;

template <class V>
using RealOf = typename V::RealType;

template <class V>
struct Uniform : V {
  Uniform() = default;
  explicit Uniform(V value) : V(value) {}
};

TAEDA_MATH_END
