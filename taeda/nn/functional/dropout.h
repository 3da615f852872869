// Dropout as functions.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/options/dropout.h"

namespace taeda::nn::functional {

TAEDA_API Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
TAEDA_API Tensor dropout1d(Tensor input, const Dropout1dFuncOptions& options = {});
TAEDA_API Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
TAEDA_API Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
TAEDA_API Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
TAEDA_API Tensor feature_alpha_dropout(Tensor input,
                                       const FeatureAlphaDropoutFuncOptions& options = {});

}  // namespace taeda::nn::functional
