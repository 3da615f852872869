// Copies of a tensor to itself, which write nothing.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// Whether both are the same elements of one memory, in the same order.
inline bool is_same_memory(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return true;
  return a.storage() == b.storage() && a.dtype() == b.dtype() && a.is_conj() == b.is_conj() &&
         a.is_neg() == b.is_neg() &&
         a.impl()->sym_storage_offset() == b.impl()->sym_storage_offset() &&
         a.sym_sizes() == b.sym_sizes() && a.sym_strides() == b.sym_strides();
}

}  // namespace taeda
