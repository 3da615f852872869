// Interpolation and sampling of images as functions.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/options/upsampling.h"

namespace taeda::nn::functional {

TAEDA_API Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
TAEDA_API Tensor affine_grid(const Tensor& theta, IntList size, bool align_corners = false);
TAEDA_API Tensor grid_sample(const Tensor& input, const Tensor& grid,
                             const GridSampleFuncOptions& options = {});

}  // namespace taeda::nn::functional
