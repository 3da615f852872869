// Interpolation to a larger size as a layer.
#pragma once

#include "taeda/nn/functional/upsampling.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

class UpsampleImpl : public OptionModule<UpsampleImpl, UpsampleOptions> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& options = {}) : OptionModule(options) {}
  Tensor forward(const Tensor& input) {
    functional::InterpolateFuncOptions call;
    std::visit([&](auto mode) { call.mode(mode); }, options.mode());
    return functional::interpolate(input, call.size(options.size())
                                              .scale_factor(options.scale_factor())
                                              .align_corners(options.align_corners()));
  }
};
TAEDA_MODULE(Upsample);

}  // namespace taeda::nn
