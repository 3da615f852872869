// Derivative helpers of grid sampling: one gradient at a time.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor grid_sampler_2d_input_backward(const Tensor& grad, const Tensor& input,
                                                const Tensor& grid, int64_t mode, int64_t padding,
                                                bool align_corners);
TAEDA_API Tensor grid_sampler_2d_grid_backward(const Tensor& grad, const Tensor& input,
                                               const Tensor& grid, int64_t mode, int64_t padding,
                                               bool align_corners);
TAEDA_API Tensor grid_sampler_3d_input_backward(const Tensor& grad, const Tensor& input,
                                                const Tensor& grid, int64_t mode, int64_t padding,
                                                bool align_corners);
TAEDA_API Tensor grid_sampler_3d_grid_backward(const Tensor& grad, const Tensor& input,
                                               const Tensor& grid, int64_t mode, int64_t padding,
                                               bool align_corners);

}  // namespace taeda::gradients
