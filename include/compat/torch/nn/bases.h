// Class templates that layers and options of PyTorch's C++ derive from, by the names there.
#pragma once

#include "taeda/nn/modules.h"

namespace taeda::nn {

template <size_t D>
using ReflectionPadOptions = PadOptions<D>;
template <size_t D>
using ReplicationPadOptions = PadOptions<D>;
template <size_t D>
using ZeroPadOptions = PadOptions<D>;
template <class Sizes>
using AdaptiveMaxPoolOptions = AdaptivePoolOptions<Sizes>;
template <class Sizes>
using AdaptiveAvgPoolOptions = AdaptivePoolOptions<Sizes>;

template <size_t D, class Derived>
using AvgPoolImpl = OptionModule<Derived, AvgPoolOptions<D>>;
template <size_t D, class Derived>
using MaxPoolImpl = OptionModule<Derived, MaxPoolOptions<D>>;
template <size_t D, class Derived>
using LPPoolImpl = OptionModule<Derived, LPPoolOptions<D>>;
template <size_t D, class Derived>
using MaxUnpoolImpl = OptionModule<Derived, MaxUnpoolOptions<D>>;
template <size_t D, class Sizes, class Derived>
using AdaptiveMaxPoolImpl = OptionModule<Derived, AdaptivePoolOptions<Sizes>>;
template <size_t D, class Sizes, class Derived>
using AdaptiveAvgPoolImpl = OptionModule<Derived, AdaptivePoolOptions<Sizes>>;

template <size_t D, class Derived>
using ReflectionPadImpl = PaddingLayer<Derived, PadOptions<D>, enumtype::kReflect>;
template <size_t D, class Derived>
using ReplicationPadImpl = PaddingLayer<Derived, PadOptions<D>, enumtype::kReplicate>;
template <size_t D, class Derived>
using ZeroPadImpl = PaddingLayer<Derived, PadOptions<D>, enumtype::kConstant>;
template <size_t D, class Derived>
using ConstantPadImpl = PaddingLayer<Derived, ConstantPadOptions<D>, enumtype::kConstant>;

template <size_t D, class Derived, class Options>
class NormImplBase : public ChannelNorm<Derived, Options> {
 public:
  NormImplBase(const Options& options) : ChannelNorm<Derived, Options>(options) {}

 protected:
  virtual void _check_input_dim(const Tensor& input) = 0;
};
template <size_t D, class Derived>
using BatchNormImplBase = BatchNormLayer<D == 1 ? 2 : D + 2, D + 2, Derived>;
template <size_t D, class Derived>
using InstanceNormImpl = InstanceNormLayer<D + 1, D + 2, Derived>;
template <size_t D, class Derived>
using ConvTransposeNdImpl = TransposedConvolution<D, Derived>;

}  // namespace taeda::nn
