// out= that is one of the inputs keeps its size: the kernel still reads it.
#pragma once

#include "taeda/ops/spec.h"

namespace taeda {

// RuntimeError where writing `out` would first give it another size while `input` is the same
// tensor.
TAEDA_API void check_keeps_input(const OutSpec& spec, const Tensor& out, const Tensor& input);
inline void check_keeps_input(const OutSpec& spec, const Tensor& out, TensorList inputs) {
  for (const Tensor& t : inputs) check_keeps_input(spec, out, t);
}

}  // namespace taeda
