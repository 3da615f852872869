// Options of pooling, by the number of spatial dimensions. A stride is the window's size unless
// set.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

template <size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size)  // NOLINT: converts
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride);
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;
  TAEDA_ARG(bool, ceil_mode) = false;
  TAEDA_ARG(bool, count_include_pad) = true;
  TAEDA_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;

 public:
  auto fields() const {
    return std::tuple(Field{"kernel_size", kernel_size()}, Field{"stride", stride()},
                      Field{"padding", padding()});
  }
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;

template <size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size)  // NOLINT: converts
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride);
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;
  TAEDA_ARG(ExpandingArray<D>, dilation) = 1;
  TAEDA_ARG(bool, ceil_mode) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"kernel_size", kernel_size()}, Field{"stride", stride()},
                      Field{"padding", padding()}, Field{"dilation", dilation()},
                      Field{"ceil_mode", ceil_mode()});
  }
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;

template <class Sizes>
struct AdaptivePoolOptions {
  AdaptivePoolOptions(Sizes output_size) : output_size_(output_size) {}  // NOLINT: converts
  TAEDA_ARG(Sizes, output_size);

 public:
  auto fields() const { return std::tuple(Field{"output_size", output_size()}); }
};
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<3>>;
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size)  // NOLINT: converts
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride);
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;

 public:
  auto fields() const {
    return std::tuple(Field{"kernel_size", kernel_size()}, Field{"stride", stride()},
                      Field{"padding", padding()});
  }
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

// Windows of random places; `output_ratio` gives sizes as parts of the input's.
template <size_t D>
struct FractionalMaxPoolOptions {
  using Ratios = ExpandingArray<D, double>;
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size)  // NOLINT: converts
      : kernel_size_(kernel_size) {}
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(std::optional<ExpandingArray<D>>, output_size) = std::nullopt;
  TAEDA_ARG(std::optional<Ratios>, output_ratio) = std::nullopt;
  TAEDA_ARG(Tensor, _random_samples) = {};
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

template <size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TAEDA_ARG(double, norm_type);
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride);
  TAEDA_ARG(bool, ceil_mode) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"norm_type", norm_type()}, Field{"kernel_size", kernel_size()},
                      Field{"stride", stride()}, Field{"ceil_mode", ceil_mode()});
  }
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;

namespace functional {

using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;

template <size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size)  // NOLINT: converts
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  MaxUnpoolFuncOptions(const MaxUnpoolOptions<D>& options)  // NOLINT: converts
      : kernel_size_(options.kernel_size()),
        stride_(options.stride()),
        padding_(options.padding()) {}
  TAEDA_ARG(ExpandingArray<D>, kernel_size);
  TAEDA_ARG(ExpandingArray<D>, stride);
  TAEDA_ARG(ExpandingArray<D>, padding) = 0;
  TAEDA_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;

}  // namespace functional
}  // namespace taeda::nn
