// Derivative helpers of grid sampling.
#include "taeda/ops/resample/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/resample/functions.h"
#include "taeda/ops/resample/grid_taps.h"

namespace taeda::gradients {
namespace {

std::tuple<Tensor, Tensor> grid_kernel(const Tensor& grad, const Tensor& input, const Tensor& grid,
                                       const GridCall& c, Span<bool> mask) {
  return input.dim() == 4 ? taeda::grid_sampler_2d_backward(grad, input, grid, c.mode, c.padding,
                                                            c.align_corners, mask)
                          : taeda::grid_sampler_3d_backward(grad, input, grid, c.mode, c.padding,
                                                            c.align_corners, mask);
}

}  // namespace

Tensor grid_input_backward(const Tensor& grad, const Tensor& input, const Tensor& grid,
                           int64_t mode, int64_t padding, bool align_corners, bool is_recorded) {
  const GridCall call{mode, padding, align_corners};
  if (is_recorded) return sampled_input_gradient(grad, input, grid, call);
  const bool mask[] = {true, false};
  return std::get<0>(grid_kernel(grad, input, grid, call, mask));
}

Tensor grid_backward(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                     int64_t padding, bool align_corners, bool is_recorded) {
  const GridCall call{mode, padding, align_corners};
  if (is_recorded) return sampled_grid_gradient(grad, input, grid, call);
  const bool mask[] = {false, true};
  return std::get<1>(grid_kernel(grad, input, grid, call, mask));
}

Tensor grid_sampler_forward(const Tensor& input, const Tensor& input_tangent, const Tensor& grid,
                            const Tensor& grid_tangent, int64_t mode, int64_t padding,
                            bool align_corners) {
  return taeda::grid_sampler(input_tangent, grid, mode, padding, align_corners)
      .add(sampled_grid_tangent(input, grid, grid_tangent, {mode, padding, align_corners}));
}

}  // namespace taeda::gradients
