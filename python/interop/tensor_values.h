// The values of tensors, read from wherever they lie.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::python {

// The tensor with its values in CPU memory, as they print; an error where it has none.
Tensor values_on_cpu(const Tensor& t);
// The one element of a tensor, from whatever device; RuntimeError for more or fewer.
Scalar read_item(const Tensor& t);

}  // namespace taeda::python
