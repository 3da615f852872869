// Interpolation and sampling of images as functions.
#include "taeda/nn/functional/upsampling.h"

#include "taeda/ops/resample/functions.h"

namespace taeda::nn::functional {

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  static constexpr const char* kModes[] = {"nearest",   "linear", "bilinear",     "bicubic",
                                           "trilinear", "area",   "nearest-exact"};
  std::optional<SymIntList> size;
  if (options.size()) size = SymIntList(*options.size());
  std::optional<Span<double>> scale_factor;
  if (options.scale_factor()) scale_factor = Span<double>(*options.scale_factor());
  return taeda::interpolate(input, size, scale_factor, kModes[options.mode().index()],
                            options.align_corners(), options.recompute_scale_factor(),
                            options.antialias());
}

Tensor affine_grid(const Tensor& theta, IntList size, bool align_corners) {
  return taeda::affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  // The operator's numbers are the places of the choices in the variants.
  return taeda::grid_sampler(input, grid, static_cast<int64_t>(options.mode().index()),
                             static_cast<int64_t>(options.padding_mode().index()),
                             options.align_corners().value_or(false));
}

}  // namespace taeda::nn::functional
