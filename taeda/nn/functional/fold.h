// Patches of images and exchanges of channels for places as functions.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/options/fold.h"

namespace taeda::nn::functional {

TAEDA_API Tensor fold(const Tensor& input, const FoldFuncOptions& options);
TAEDA_API Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);
TAEDA_API Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
TAEDA_API Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
TAEDA_API Tensor channel_shuffle(const Tensor& input, const ChannelShuffleFuncOptions& options);

}  // namespace taeda::nn::functional
