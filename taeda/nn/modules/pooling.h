// Pooling over windows of one, two and three spatial dimensions.
#pragma once

#include "taeda/nn/functional/pooling.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

template <class Derived, class Options, auto function>
using PoolLayer = FunctionLayer<Derived, Options, function, const Tensor&>;

// Also tells the places of the maxima.
template <class Derived, class Options, auto function, auto with_indices>
class MaximumPool : public PoolLayer<Derived, Options, function> {
 public:
  using PoolLayer<Derived, Options, function>::FunctionLayer;
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {
    return with_indices(input, this->options);
  }
};

// Puts maxima back to their places; `output_size` chooses between sizes that pool to the input's.
template <size_t D, class Derived, auto function>
class MaximumUnpool : public OptionModule<Derived, MaxUnpoolOptions<D>> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})

  using OptionModule<Derived, MaxUnpoolOptions<D>>::OptionModule;
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const std::optional<std::vector<int64_t>>& output_size = std::nullopt) {
    return function(input, indices,
                    functional::MaxUnpoolFuncOptions<D>(this->options).output_size(output_size));
  }
};

class AvgPool1dImpl : public PoolLayer<AvgPool1dImpl, AvgPool1dOptions, functional::avg_pool1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AvgPool1d);

class AvgPool2dImpl : public PoolLayer<AvgPool2dImpl, AvgPool2dOptions, functional::avg_pool2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AvgPool2d);

class AvgPool3dImpl : public PoolLayer<AvgPool3dImpl, AvgPool3dOptions, functional::avg_pool3d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AvgPool3d);

class AdaptiveAvgPool1dImpl : public PoolLayer<AdaptiveAvgPool1dImpl, AdaptiveAvgPool1dOptions,
                                               functional::adaptive_avg_pool1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AdaptiveAvgPool1d);

class AdaptiveAvgPool2dImpl : public PoolLayer<AdaptiveAvgPool2dImpl, AdaptiveAvgPool2dOptions,
                                               functional::adaptive_avg_pool2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AdaptiveAvgPool2d);

class AdaptiveAvgPool3dImpl : public PoolLayer<AdaptiveAvgPool3dImpl, AdaptiveAvgPool3dOptions,
                                               functional::adaptive_avg_pool3d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(AdaptiveAvgPool3d);

class LPPool1dImpl : public PoolLayer<LPPool1dImpl, LPPool1dOptions, functional::lp_pool1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LPPool1d);

class LPPool2dImpl : public PoolLayer<LPPool2dImpl, LPPool2dOptions, functional::lp_pool2d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LPPool2d);

class LPPool3dImpl : public PoolLayer<LPPool3dImpl, LPPool3dOptions, functional::lp_pool3d> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LPPool3d);

class MaxPool1dImpl : public MaximumPool<MaxPool1dImpl, MaxPool1dOptions, functional::max_pool1d,
                                         functional::max_pool1d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(MaxPool1d);

class MaxPool2dImpl : public MaximumPool<MaxPool2dImpl, MaxPool2dOptions, functional::max_pool2d,
                                         functional::max_pool2d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(MaxPool2d);

class MaxPool3dImpl : public MaximumPool<MaxPool3dImpl, MaxPool3dOptions, functional::max_pool3d,
                                         functional::max_pool3d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(MaxPool3d);

class AdaptiveMaxPool1dImpl : public MaximumPool<AdaptiveMaxPool1dImpl, AdaptiveMaxPool1dOptions,
                                                 functional::adaptive_max_pool1d,
                                                 functional::adaptive_max_pool1d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(AdaptiveMaxPool1d);

class AdaptiveMaxPool2dImpl : public MaximumPool<AdaptiveMaxPool2dImpl, AdaptiveMaxPool2dOptions,
                                                 functional::adaptive_max_pool2d,
                                                 functional::adaptive_max_pool2d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(AdaptiveMaxPool2d);

class AdaptiveMaxPool3dImpl : public MaximumPool<AdaptiveMaxPool3dImpl, AdaptiveMaxPool3dOptions,
                                                 functional::adaptive_max_pool3d,
                                                 functional::adaptive_max_pool3d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(AdaptiveMaxPool3d);

class FractionalMaxPool2dImpl
    : public MaximumPool<FractionalMaxPool2dImpl, FractionalMaxPool2dOptions,
                         functional::fractional_max_pool2d,
                         functional::fractional_max_pool2d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(FractionalMaxPool2d);

class FractionalMaxPool3dImpl
    : public MaximumPool<FractionalMaxPool3dImpl, FractionalMaxPool3dOptions,
                         functional::fractional_max_pool3d,
                         functional::fractional_max_pool3d_with_indices> {
 public:
  using MaximumPool::MaximumPool;
};
TAEDA_MODULE(FractionalMaxPool3d);

class MaxUnpool1dImpl : public MaximumUnpool<1, MaxUnpool1dImpl, functional::max_unpool1d> {
 public:
  using MaximumUnpool::MaximumUnpool;
};
TAEDA_MODULE(MaxUnpool1d);

class MaxUnpool2dImpl : public MaximumUnpool<2, MaxUnpool2dImpl, functional::max_unpool2d> {
 public:
  using MaximumUnpool::MaximumUnpool;
};
TAEDA_MODULE(MaxUnpool2d);

class MaxUnpool3dImpl : public MaximumUnpool<3, MaxUnpool3dImpl, functional::max_unpool3d> {
 public:
  using MaximumUnpool::MaximumUnpool;
};
TAEDA_MODULE(MaxUnpool3d);

}  // namespace taeda::nn
