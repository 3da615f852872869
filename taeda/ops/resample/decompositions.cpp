// Grid sampling in three dimensions, and gradients of it, as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/resample/functions.h"
#include "taeda/ops/resample/grid_taps.h"
#include "taeda/ops/resample/operators.h"

namespace taeda {
namespace {

std::tuple<Tensor, Tensor> both_grid_gradients(const Tensor& grad, const Tensor& input,
                                               const Tensor& grid, const GridCall& call,
                                               Span<bool> mask) {
  return {mask[0] ? sampled_input_gradient(grad, input, grid, call) : Tensor(),
          mask[1] ? sampled_grid_gradient(grad, input, grid, call) : Tensor()};
}

}  // namespace

TAEDA_DECOMPOSITION(grid_sampler_3d,
                    (const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                     int64_t padding_mode, bool align_corners)) {
  return sampled_by_operators(input, grid, {interpolation_mode, padding_mode, align_corners});
}
TAEDA_DECOMPOSITION(grid_sampler_2d_backward,
                    (const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                     int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                     Span<bool> output_mask)) {
  return both_grid_gradients(grad_output, input, grid,
                             {interpolation_mode, padding_mode, align_corners}, output_mask);
}
TAEDA_DECOMPOSITION(grid_sampler_3d_backward,
                    (const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                     int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                     Span<bool> output_mask)) {
  return both_grid_gradients(grad_output, input, grid,
                             {interpolation_mode, padding_mode, align_corners}, output_mask);
}

}  // namespace taeda
