// Convolutions as plans run them: with work on the blocks of their results.
#pragma once

#include "taeda/backends/cpu/gemm/products.h"

namespace taeda::cpu {

// Null for operators that are no convolutions.
TAEDA_API const ProductOperator* find_convolution(const dispatch::Operator& op);

}  // namespace taeda::cpu
