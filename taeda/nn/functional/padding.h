// Padding as a function.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/options/padding.h"

namespace taeda::nn::functional {

TAEDA_API Tensor pad(const Tensor& input, const PadFuncOptions& options);

}  // namespace taeda::nn::functional
