// Derivative helpers of borders.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// What takes a border away again.
inline SymIntVec negative(SymIntList pad) {
  SymIntVec out;
  for (const SymInt& p : pad) out.push_back(-p);
  return out;
}

}  // namespace taeda::gradients
