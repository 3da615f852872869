// Questions about a tensor's geometry that are operators: how classes that hold other tensors read
// them, and how graphs and handlers name the question.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// Whether the strides are those of this channels-last format, not merely such that it may be read
// so.
TAEDA_API bool is_channels_last_as(const Tensor& t, MemoryFormat format);

}  // namespace taeda
