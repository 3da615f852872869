// Grids of places: shape rules of grid_sampler, and affine grids.
#include "taeda/ops/functions.h"
#include "taeda/ops/resample/declarations.h"
#include "taeda/ops/resample/functions.h"

namespace taeda::impl {
namespace {

void check_grid(const Tensor& input, const Tensor& grid) {
  TAEDA_CHECK(input.dim() >= 1 && grid.dim() >= 1 && input.sym_size(0) == grid.sym_size(0),
              "grid_sampler(): expected grid and input to have same batch size, but got input with "
              "sizes ",
              input.sym_sizes(), " and grid with sizes ", grid.sym_sizes());
  TAEDA_CHECK(grid.sym_size(-1) == SymInt(input.dim() - 2),
              "grid_sampler(): expected grid to have size ", input.dim() - 2,
              " in last dimension, but got grid with sizes ", grid.sym_sizes());
  for (int64_t d = 2; d < input.dim(); ++d)
    TAEDA_CHECK(input.sym_size(d) > SymInt(0),
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                "has sizes ",
                input.sym_sizes(), " with dimension ", d, " being empty");
}

void check_grid_call(const Tensor& input, const Tensor& grid, int64_t mode, int64_t spatial) {
  check_grid(input, grid);
  TAEDA_CHECK(input.dim() == spatial + 2 && input.dim() == grid.dim(), "grid_sampler(): expected ",
              spatial + 2,
              "D input and grid with same number of dimensions, but got input with "
              "sizes ",
              input.sym_sizes(), " and grid with sizes ", grid.sym_sizes());
  TAEDA_CHECK(spatial == 2 || mode != 2,
              "grid_sampler(): bicubic interpolation only supports 4D input");
  TAEDA_CHECK_NOT_IMPLEMENTED(
      is_floating(input.dtype()) && !is_float8(input.dtype()), "\"",
      spatial == 2 ? "grid_sampler_2d_cpu_kernel_impl" : "grid_sampler3d_cpu",
      "\" not implemented for '", input.dtype(), "'");
  TAEDA_CHECK(input.dtype() == grid.dtype(), "expected scalar type ", input.dtype(), " but found ",
              grid.dtype());
}

OutSpec sampled_spec(const Tensor& input, const Tensor& grid, int64_t mode, int64_t spatial) {
  check_grid_call(input, grid, mode, spatial);
  SymIntVec sizes(SymIntList(input.sym_sizes().data(), 2));
  for (int64_t d = 0; d < spatial; ++d) sizes.push_back(grid.sym_size(d + 1));
  return OutSpec(SymIntList(sizes), input.dtype(), input.device());
}

std::tuple<Tensor, Tensor> sampled_backward_meta(const Tensor& grad, const Tensor& input,
                                                 const Tensor& grid, int64_t mode, int64_t spatial,
                                                 Span<bool> mask) {
  const OutSpec out = sampled_spec(input, grid, mode, spatial);
  TAEDA_CHECK(grad.sym_sizes() == SymIntList(out.sizes), "grid_sampler_", spatial,
              "d_backward: expected a gradient of ", SymIntList(out.sizes), ", got ",
              grad.sym_sizes());
  TAEDA_CHECK(mask.size() == 2, "grid_sampler_", spatial,
              "d_backward: expected two entries of output_mask, got ", mask.size());
  const auto like = [](const Tensor& t) {
    return OutSpec(t.sym_sizes(), t.dtype(), t.device()).allocate();
  };
  return {mask[0] ? like(input) : Tensor(), mask[1] ? like(grid) : Tensor()};
}

// From -1 to 1, at the corners' elements or at their outer borders.
Tensor grid_line(const Tensor& like, const SymInt& steps, bool align_corners) {
  if (steps <= SymInt(1)) return taeda::zeros({SymInt(1)}, like.dtype(), {}, like.device());
  const DType compute = is_reduced_float(like.dtype()) ? DType::Float : like.dtype();
  const Tensor at = taeda::arange(Scalar(steps), compute, {}, like.device());
  const Scalar last(steps - SymInt(1));
  const Tensor line = at.mul(Scalar(2)).div(last).sub(Scalar(1));
  return (align_corners ? line : line.mul(last).div(Scalar(steps))).to(like.dtype());
}

// Places and a one behind them, as columns: positions x (spatial + 1).
Tensor base_grid(const Tensor& like, SymIntList size, bool align_corners) {
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  SymIntVec shape(SymIntList(size.data() + 2, size.size() - 2));
  std::vector<Tensor> columns;
  for (int64_t d = spatial - 1; d >= 0; --d) {
    Tensor line = grid_line(like, size[d + 2], align_corners);
    for (int64_t k = d + 1; k < spatial; ++k) line = line.unsqueeze(-1);
    columns.push_back(line.expand(SymIntList(shape)));
  }
  columns.push_back(taeda::ones(SymIntList(shape), like.dtype(), {}, like.device()));
  return taeda::stack(columns, -1).reshape({SymInt(-1), SymInt(spatial + 1)});
}

void check_affine_size(SymIntList size) {
  TAEDA_CHECK(size.size() == 4 || size.size() == 5,
              "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
}

}  // namespace

OutSpec grid_sampler_2d_spec(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                             int64_t, bool) {
  return sampled_spec(input, grid, interpolation_mode, 2);
}
OutSpec grid_sampler_3d_spec(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                             int64_t, bool) {
  return sampled_spec(input, grid, interpolation_mode, 3);
}
std::tuple<Tensor, Tensor> grid_sampler_2d_backward_meta(const Tensor& grad_output,
                                                         const Tensor& input, const Tensor& grid,
                                                         int64_t interpolation_mode, int64_t, bool,
                                                         Span<bool> output_mask) {
  return sampled_backward_meta(grad_output, input, grid, interpolation_mode, 2, output_mask);
}
std::tuple<Tensor, Tensor> grid_sampler_3d_backward_meta(const Tensor& grad_output,
                                                         const Tensor& input, const Tensor& grid,
                                                         int64_t interpolation_mode, int64_t, bool,
                                                         Span<bool> output_mask) {
  return sampled_backward_meta(grad_output, input, grid, interpolation_mode, 3, output_mask);
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners) {
  check_grid(input, grid);
  if (input.dim() == 4)
    return taeda::grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners);
  return taeda::grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor affine_grid_generator(const Tensor& theta, SymIntList size, bool align_corners) {
  check_affine_size(size);
  TAEDA_CHECK_NOT_IMPLEMENTED(theta.is_floating_point(),
                              "\"affine_grid_generator\" not implemented for '", theta.dtype(),
                              "'");
  SymIntVec shape(size);
  shape.erase(1);
  shape.push_back(SymInt(static_cast<int64_t>(size.size()) - 2));
  const Tensor places = base_grid(theta, size, align_corners).unsqueeze(0);
  const Tensor each = places.expand({size[0], places.sym_size(1), places.sym_size(2)});
  return each.bmm(theta.transpose(1, 2)).reshape(SymIntList(shape));
}

Tensor affine_grid_generator_backward(const Tensor& grad, SymIntList size, bool align_corners) {
  check_affine_size(size);
  const Tensor places = base_grid(grad, size, align_corners).unsqueeze(0).transpose(1, 2);
  const Tensor each = places.expand({size[0], places.sym_size(1), places.sym_size(2)});
  const Tensor flat = grad.reshape({size[0], SymInt(-1), grad.sym_size(-1)});
  return each.bmm(flat).transpose(1, 2);
}

}  // namespace taeda::impl
