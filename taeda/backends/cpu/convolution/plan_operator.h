// Convolutions as plans run them: with work on the blocks of their results.
#pragma once

#include "taeda/backends/cpu/gemm/products.h"

namespace taeda::cpu {

// Null for operators that are no convolutions.
TAEDA_API const ProductOperator* find_convolution(const dispatch::Operator& op);

// Whether convolutions of images that lie with channels innermost save copies.
TAEDA_API bool prefers_channels_last(DType dtype);

}  // namespace taeda::cpu
