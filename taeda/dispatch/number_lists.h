// Lists of numbers (Scalar[] in a schema) as values of boxed calls.
#pragma once

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

// A value is a list of integers, floats or truths, or of values where they are mixed.
template <>
struct TAEDA_API Boxing<Span<Scalar>> {
  using Owned = std::vector<Scalar>;
  static Owned from(const Value& v);
  static Span<Scalar> pass(const Owned& o) { return o; }
  static Value to(Span<Scalar> v);
};

}  // namespace taeda::dispatch
