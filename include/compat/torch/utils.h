// Guards, seeds and threads by torch:: names.
#pragma once

#include "ATen/Parallel.h"
#include "torch/types.h"

namespace torch {

// Whether both are undefined, or both are defined and have equal values.
inline bool equal_if_defined(const Tensor& t1, const Tensor& t2) {
  return t1.defined() && t2.defined() ? ::taeda::equal(t1, t2) : t1.defined() == t2.defined();
}

}  // namespace torch
