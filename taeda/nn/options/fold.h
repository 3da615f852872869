// Options of layers that cut images into patches or exchange channels for places.
#pragma once

#include <tuple>

#include "taeda/nn/layer.h"

namespace taeda::nn {

struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  TAEDA_ARG(ExpandingArray<2>, output_size);
  TAEDA_ARG(ExpandingArray<2>, kernel_size);
  TAEDA_ARG(ExpandingArray<2>, dilation) = 1;
  TAEDA_ARG(ExpandingArray<2>, padding) = 0;
  TAEDA_ARG(ExpandingArray<2>, stride) = 1;

 public:
  auto fields() const {
    return std::tuple(Field{"output_size", output_size()}, Field{"kernel_size", kernel_size()},
                      Field{"dilation", dilation()}, Field{"padding", padding()},
                      Field{"stride", stride()});
  }
};

struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}  // NOLINT: converts
  TAEDA_ARG(ExpandingArray<2>, kernel_size);
  TAEDA_ARG(ExpandingArray<2>, dilation) = 1;
  TAEDA_ARG(ExpandingArray<2>, padding) = 0;
  TAEDA_ARG(ExpandingArray<2>, stride) = 1;

 public:
  auto fields() const {
    return std::tuple(Field{"kernel_size", kernel_size()}, Field{"dilation", dilation()},
                      Field{"padding", padding()}, Field{"stride", stride()});
  }
};

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor)  // NOLINT: converts
      : upscale_factor_(upscale_factor) {}
  TAEDA_ARG(int64_t, upscale_factor);

 public:
  auto fields() const { return std::tuple(Field{"upscale_factor", upscale_factor()}); }
};

struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor)  // NOLINT: converts
      : downscale_factor_(downscale_factor) {}
  TAEDA_ARG(int64_t, downscale_factor);

 public:
  auto fields() const { return std::tuple(Field{"downscale_factor", downscale_factor()}); }
};

struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, groups);

 public:
  auto fields() const { return std::tuple(Field{"groups", groups()}); }
};

namespace functional {
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using ChannelShuffleFuncOptions = ChannelShuffleOptions;
}  // namespace functional

}  // namespace taeda::nn
