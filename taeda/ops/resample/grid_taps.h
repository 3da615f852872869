// Grid sampling in differentiable operators, where a derivative will be differentiated again.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// The arguments of a call beside its tensors.
struct GridCall {
  int64_t mode, padding;
  bool align_corners;
};

// What grid_sampler_2d and grid_sampler_3d compute.
Tensor sampled_by_operators(const Tensor& input, const Tensor& grid, const GridCall& call);
// Its gradients. Only the sizes of `input` count for its own.
Tensor sampled_input_gradient(const Tensor& grad, const Tensor& input, const Tensor& grid,
                              const GridCall& call);
Tensor sampled_grid_gradient(const Tensor& grad, const Tensor& input, const Tensor& grid,
                             const GridCall& call);
// The tangent that comes from the grid's.
Tensor sampled_grid_tangent(const Tensor& input, const Tensor& grid, const Tensor& tangent,
                            const GridCall& call);

}  // namespace taeda
