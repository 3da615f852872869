// Convolutions as functions.
#pragma once

#include "taeda/nn/options/conv.h"

namespace taeda::nn::functional {

TAEDA_API Tensor conv1d(const Tensor& input, const Tensor& weight,
                        const Conv1dFuncOptions& options = {});
TAEDA_API Tensor conv2d(const Tensor& input, const Tensor& weight,
                        const Conv2dFuncOptions& options = {});
TAEDA_API Tensor conv3d(const Tensor& input, const Tensor& weight,
                        const Conv3dFuncOptions& options = {});
TAEDA_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                                  const ConvTranspose1dFuncOptions& options = {});
TAEDA_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                  const ConvTranspose2dFuncOptions& options = {});
TAEDA_API Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                                  const ConvTranspose3dFuncOptions& options = {});

}  // namespace taeda::nn::functional
