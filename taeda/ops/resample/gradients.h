// Derivative helpers of grid sampling: one gradient at a time, by the kernel, or by operators where
// it will be differentiated again.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor grid_input_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                                     int64_t mode, int64_t padding, bool align_corners,
                                     bool is_recorded);
TAEDA_API Tensor grid_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                               int64_t mode, int64_t padding, bool align_corners, bool is_recorded);
TAEDA_API Tensor grid_sampler_forward(const Tensor& input, const Tensor& input_tangent,
                                      const Tensor& grid, const Tensor& grid_tangent, int64_t mode,
                                      int64_t padding, bool align_corners);

}  // namespace taeda::gradients
