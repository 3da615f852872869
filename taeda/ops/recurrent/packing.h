// Lengths of packed sequences, which operators read.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::recurrent {

// The numbers of a vector of int64; RuntimeError for any other tensor.
std::vector<int64_t> lengths_of(const Tensor& lengths);

}  // namespace taeda::recurrent
