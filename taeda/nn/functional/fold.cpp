// Patches of images and exchanges of channels for places as functions.
#include "taeda/nn/functional/fold.h"

#include "taeda/ops/patches/functions.h"

namespace taeda::nn::functional {

Tensor fold(const Tensor& input, const FoldFuncOptions& options) {
  return taeda::col2im(input, options.output_size(), options.kernel_size(), options.dilation(),
                       options.padding(), options.stride());
}

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options) {
  return taeda::im2col(input, options.kernel_size(), options.dilation(), options.padding(),
                       options.stride());
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return taeda::pixel_shuffle(input, options.upscale_factor());
}

Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return taeda::pixel_unshuffle(input, options.downscale_factor());
}

Tensor channel_shuffle(const Tensor& input, const ChannelShuffleFuncOptions& options) {
  return taeda::channel_shuffle(input, options.groups());
}

}  // namespace taeda::nn::functional
