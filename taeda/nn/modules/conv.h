// Convolutions, and their gradients with respect to the input as layers of their own. What they
// share is defined here, so that layers of other programs can be made of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "taeda/nn/functional/conv.h"
#include "taeda/nn/init.h"
#include "taeda/nn/layer.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {
namespace detail {

template <size_t D>
bool all_are(const ExpandingArray<D>& values, int64_t value) {
  return std::all_of(values->begin(), values->end(), [&](int64_t v) { return v == value; });
}

template <size_t D>
void check_convolution(const ConvNdOptions<D>& options) {
  TAEDA_CHECK(options.in_channels() > 0 && options.groups() > 0 && options.out_channels() > 0,
              "in_channels, groups and out_channels must be a positive integer.");
  TAEDA_CHECK(options.in_channels() % options.groups() == 0,
              "in_channels must be divisible by groups");
  TAEDA_CHECK(options.out_channels() % options.groups() == 0,
              "out_channels must be divisible by groups");
  TAEDA_CHECK(
      !std::holds_alternative<enumtype::kSame>(options.padding()) || all_are(options.stride(), 1),
      "padding='same' is not supported for strided convolutions");
}

// Before and after each dimension, the last one first.
template <size_t D>
std::vector<int64_t> padded_sides(const ConvNdOptions<D>& options) {
  std::vector<int64_t> out;
  for (size_t d = D; d-- > 0;) {
    if (const auto* numbers = std::get_if<ExpandingArray<D>>(&options.padding())) {
      out.insert(out.end(), 2, (**numbers)[d]);
      continue;
    }
    const bool is_same = std::holds_alternative<enumtype::kSame>(options.padding());
    const int64_t total =
        is_same ? (*options.dilation())[d] * ((*options.kernel_size())[d] - 1) : 0;
    out.push_back(total / 2);
    out.push_back(total - total / 2);
  }
  return out;
}

}  // namespace detail

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
ConvNdImpl<D, Derived>::ConvNdImpl(detail::ConvNdOptions<D> given) : options(std::move(given)) {
  ConvNdImpl::reset();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  detail::check_convolution(options);
  _reversed_padding_repeated_twice = detail::padded_sides(options);
  int64_t rows = options.out_channels(), columns = options.in_channels();
  if (options.transposed()) std::swap(rows, columns);
  SymIntVec shape{rows, columns / options.groups()};
  for (int64_t size : *options.kernel_size()) shape.push_back(size);
  weight = this->register_parameter("weight", taeda::empty(shape));
  const SymInt out = options.out_channels();
  bias = this->register_parameter("bias", options.bias() ? taeda::empty({out}) : Tensor());
  reset_parameters();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t in = init::calculate_fan_in_and_fan_out(weight).first;
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform_(bias, -bound, bound);
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  const auto* padding = std::get_if<ExpandingArray<D>>(&options.padding());
  const bool is_same = std::holds_alternative<enumtype::kSame>(options.padding());
  print_layer(stream, *this, Field{"", options.in_channels()}, Field{"", options.out_channels()},
              Field{"kernel_size", options.kernel_size()}, Field{"stride", options.stride()},
              Field{"padding", padding ? *padding : ExpandingArray<D>(0),
                    padding && !detail::all_are(*padding, 0)},
              Field{"padding", is_same ? "'same'" : "'valid'", !padding},
              Field{"dilation", options.dilation(), !detail::all_are(options.dilation(), 1)},
              Field{"output_padding", options.output_padding(),
                    !detail::all_are(options.output_padding(), 0)},
              Field{"groups", options.groups(), options.groups() != 1},
              Field{"bias", false, !options.bias()},
              Field{"padding_mode", options.padding_mode(),
                    !std::holds_alternative<enumtype::kZeros>(options.padding_mode())});
}

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
