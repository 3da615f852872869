// at::indexing: Slice, None, Ellipsis for Tensor::index.
#pragma once

#include "taeda/ops/indexing/tensor_index.h"

namespace at::indexing {
using namespace ::taeda::indexing;
using TensorIndex = ::taeda::TensorIndex;
}  // namespace at::indexing
