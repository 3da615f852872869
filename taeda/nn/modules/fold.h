// Patches of images, and exchanges of channels for places.
#pragma once

#include "taeda/nn/functional/fold.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

class FoldImpl : public FunctionLayer<FoldImpl, FoldOptions, functional::fold, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Fold);

class UnfoldImpl
    : public FunctionLayer<UnfoldImpl, UnfoldOptions, functional::unfold, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Unfold);

class PixelShuffleImpl : public FunctionLayer<PixelShuffleImpl, PixelShuffleOptions,
                                              functional::pixel_shuffle, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(PixelShuffle);

class PixelUnshuffleImpl : public FunctionLayer<PixelUnshuffleImpl, PixelUnshuffleOptions,
                                                functional::pixel_unshuffle, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(PixelUnshuffle);

class ChannelShuffleImpl : public FunctionLayer<ChannelShuffleImpl, ChannelShuffleOptions,
                                                functional::channel_shuffle, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(ChannelShuffle);

}  // namespace taeda::nn
