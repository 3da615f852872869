// The index of slices as one of elements.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// An index along `dim` of the shape of `source`: each slice's number for all of its elements.
TAEDA_API Tensor slice_index(const Tensor& index, const Tensor& source, int64_t dim);

}  // namespace taeda
