// Options of convolutions, by the number of spatial dimensions.
#pragma once

#include <initializer_list>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {
namespace detail {

using conv_padding_mode_t =
    std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
template <size_t D>
using conv_padding_t = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;

// What a convolution layer of either kind holds.
template <size_t D>
struct ConvNdOptions {
  using padding_t = conv_padding_t<D>;
  ConvNdOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TAEDA_ARG(int64_t, in_channels);
  TAEDA_ARG(int64_t, out_channels);
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride) = 1;
  TAEDA_ARG(padding_t, padding) = ExpandingArray<D>(0);
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
  TAEDA_ARG(bool, transposed) = false;
  TAEDA_ARG(ExpandingArray<D>, output_padding) = 0;
  TAEDA_ARG(int64_t, groups) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(conv_padding_mode_t, padding_mode) = kZeros;
};

}  // namespace detail

template <size_t D>
struct ConvOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  using padding_t = detail::conv_padding_t<D>;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TAEDA_ARG(int64_t, in_channels);
  TAEDA_ARG(int64_t, out_channels);
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride) = 1;
  TAEDA_ARG(padding_t, padding) = ExpandingArray<D>(0);
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
  TAEDA_ARG(int64_t, groups) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(padding_mode_t, padding_mode) = kZeros;

 public:
  ConvOptions& padding(std::initializer_list<int64_t> list) {
    return padding(padding_t(ExpandingArray<D>(list)));
  }
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <size_t D>
struct ConvTransposeOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TAEDA_ARG(int64_t, in_channels);
  TAEDA_ARG(int64_t, out_channels);
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride) = 1;
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;
  TAEDA_ARG(ExpandingArray<D>, output_padding) = 0;
  TAEDA_ARG(int64_t, groups) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
  TAEDA_ARG(padding_mode_t, padding_mode) = kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {

template <size_t D>
struct ConvFuncOptions {
  using padding_t = nn::detail::conv_padding_t<D>;
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(ExpandingArray<D>, stride) = 1;
  TAEDA_ARG(padding_t, padding) = ExpandingArray<D>(0);
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
  TAEDA_ARG(int64_t, groups) = 1;

 public:
  ConvFuncOptions& padding(std::initializer_list<int64_t> list) {
    return padding(padding_t(ExpandingArray<D>(list)));
  }
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <size_t D>
struct ConvTransposeFuncOptions {
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(ExpandingArray<D>, stride) = 1;
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;
  TAEDA_ARG(ExpandingArray<D>, output_padding) = 0;
  TAEDA_ARG(int64_t, groups) = 1;
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

}  // namespace functional
}  // namespace taeda::nn
