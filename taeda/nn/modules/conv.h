// Convolutions, and their gradients with respect to the input as layers of their own.
#pragma once

#include <optional>
#include <vector>

#include "taeda/nn/functional/conv.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

// What both kinds share: options, weight and bias.
template <size_t D, class Derived>
class TAEDA_API ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(detail::ConvNdOptions<D> options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  detail::ConvNdOptions<D> options;
  Tensor weight, bias;

 protected:
  // What `pad` adds before and after each dimension, the last one first, in modes other than zeros.
  std::vector<int64_t> _reversed_padding_repeated_twice;
};

template <size_t D, class Derived>
class TAEDA_API Convolution : public ConvNdImpl<D, Derived> {
 public:
  Convolution(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : Convolution(ConvOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit Convolution(const ConvOptions<D>& options);
  Tensor forward(const Tensor& input);
};

// `output_size` chooses between the sizes that a convolution maps to that of the input.
template <size_t D, class Derived>
class TAEDA_API TransposedConvolution : public ConvNdImpl<D, Derived> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<IntList>())})

  TransposedConvolution(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : TransposedConvolution(ConvTransposeOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit TransposedConvolution(const ConvTransposeOptions<D>& options);
  Tensor forward(const Tensor& input, const std::optional<IntList>& output_size = std::nullopt);

 private:
  ExpandingArray<D> output_padding(const Tensor& input, const std::optional<IntList>& size) const;
};

class TAEDA_API Conv1dImpl : public Convolution<1, Conv1dImpl> {
 public:
  using Convolution::Convolution;
};
TAEDA_MODULE(Conv1d);

class TAEDA_API Conv2dImpl : public Convolution<2, Conv2dImpl> {
 public:
  using Convolution::Convolution;
};
TAEDA_MODULE(Conv2d);

class TAEDA_API Conv3dImpl : public Convolution<3, Conv3dImpl> {
 public:
  using Convolution::Convolution;
};
TAEDA_MODULE(Conv3d);

class TAEDA_API ConvTranspose1dImpl : public TransposedConvolution<1, ConvTranspose1dImpl> {
 public:
  using TransposedConvolution::TransposedConvolution;
};
TAEDA_MODULE(ConvTranspose1d);

class TAEDA_API ConvTranspose2dImpl : public TransposedConvolution<2, ConvTranspose2dImpl> {
 public:
  using TransposedConvolution::TransposedConvolution;
};
TAEDA_MODULE(ConvTranspose2d);

class TAEDA_API ConvTranspose3dImpl : public TransposedConvolution<3, ConvTranspose3dImpl> {
 public:
  using TransposedConvolution::TransposedConvolution;
};
TAEDA_MODULE(ConvTranspose3d);

}  // namespace taeda::nn
