// The memory format of tensors whose last dimensions are planes or volumes.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// A format tells where channels lie in a batch of `spatial` last dimensions. One example alone has
// a dimension less: four dimensions of a volume are no batch of planes, whatever their strides are.
inline MemoryFormat plane_format(const Tensor& t, int64_t spatial) {
  return t.dim() == spatial + 2 ? t.suggested_format() : MemoryFormat::Contiguous;
}

}  // namespace taeda
