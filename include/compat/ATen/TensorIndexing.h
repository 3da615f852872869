// at::indexing: Slice, None, Ellipsis for Tensor::index.
#pragma once

#include "taeda/ops/indexing/tensor_index.h"

namespace at {
namespace indexing = ::taeda::indexing;
}
