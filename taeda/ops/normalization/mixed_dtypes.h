// Parameters of normalizations beside inputs of another dtype.
#pragma once

#include <initializer_list>

#include "taeda/core/tensor.h"

namespace taeda {

// Whether parameters are floats beside an input of a half type; throws for any other mixture.
inline bool has_mixed_dtypes(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  bool is_mixed = false;
  for (const Tensor* t : parameters) is_mixed |= t->defined() && t->dtype() != input.dtype();
  if (!is_mixed) return false;
  for (const Tensor* t : parameters)
    TAEDA_CHECK(!t->defined() || t->dtype() == DType::Float,
                "mixed dtype (CPU): expect parameter to have scalar type of Float");
  TAEDA_CHECK(is_reduced_float(input.dtype()),
              "mixed dtype (CPU): all inputs must share same datatype.");
  return true;
}

}  // namespace taeda
