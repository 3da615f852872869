// The check that a tensor has the dtype which a kernel is going to read.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// RuntimeError "expected scalar type Float but found Double"; a tensor that is not there passes.
inline void check_scalar_type(DType expected, const Tensor& t) {
  TAEDA_CHECK(!t.defined() || t.dtype() == expected, "expected scalar type ", expected,
              " but found ", t.dtype());
}

}  // namespace taeda
