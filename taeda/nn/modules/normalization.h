// Batch, instance, layer, group and response normalization. The first two are defined here, so that
// layers of other programs can be made of them.
#pragma once

#include <optional>

#include "taeda/nn/functional/normalization.h"
#include "taeda/nn/modules/channel_norm.h"

namespace taeda::nn {
namespace detail {

template <int64_t least_rank, int64_t most_rank>
void check_rank(const Tensor& input) {
  const int64_t rank = input.dim();
  if (least_rank == most_rank) {
    TAEDA_CHECK(rank == most_rank, "expected ", most_rank, "D input (got ", rank, "D input)");
  }
  TAEDA_CHECK(rank == least_rank || rank == most_rank, "expected ", least_rank, "D or ", most_rank,
              "D input (got ", rank, "D input)");
}

}  // namespace detail

// The channels, dimension 1, brought to mean 0 and variance 1; for inputs of the named ranks.
template <int64_t least_rank, int64_t most_rank, class Derived>
class TAEDA_API BatchNormLayer : public ChannelNorm<Derived, BatchNormOptions> {
 public:
  explicit BatchNormLayer(const BatchNormOptions& options)
      : ChannelNorm<Derived, BatchNormOptions>(options) {}
  Tensor forward(const Tensor& input);

 protected:
  // Refuses inputs of other ranks.
  virtual void _check_input_dim(const Tensor& input) {
    detail::check_rank<least_rank, most_rank>(input);
  }
};

template <int64_t least_rank, int64_t most_rank, class Derived>
Tensor BatchNormLayer<least_rank, most_rank, Derived>::forward(const Tensor& input) {
  _check_input_dim(input);
  const std::optional<double> momentum = this->options.momentum();
  double factor = momentum.value_or(0);
  if (this->is_training() && this->num_batches_tracked.defined()) {
    this->num_batches_tracked.add_(1);
    if (!momentum) factor = 1 / this->num_batches_tracked.template item<double>();
  }
  return functional::batch_norm(input, this->running_mean, this->running_var,
                                functional::BatchNormFuncOptions()
                                    .weight(this->weight)
                                    .bias(this->bias)
                                    .training(this->is_training() || !this->running_mean.defined())
                                    .momentum(factor)
                                    .eps(this->options.eps()));
}

// The same of each example; an input of the lower rank is one example.
template <int64_t least_rank, int64_t most_rank, class Derived>
class TAEDA_API InstanceNormLayer : public ChannelNorm<Derived, InstanceNormOptions> {
 public:
  explicit InstanceNormLayer(const InstanceNormOptions& options)
      : ChannelNorm<Derived, InstanceNormOptions>(options) {}
  Tensor forward(const Tensor& input);

 protected:
  // Refuses inputs of other ranks.
  virtual void _check_input_dim(const Tensor& input) {
    detail::check_rank<least_rank, most_rank>(input);
  }
};

template <int64_t least_rank, int64_t most_rank, class Derived>
Tensor InstanceNormLayer<least_rank, most_rank, Derived>::forward(const Tensor& input) {
  _check_input_dim(input);
  const bool is_single = input.dim() == least_rank;
  const auto call =
      functional::InstanceNormFuncOptions()
          .running_mean(this->running_mean)
          .running_var(this->running_var)
          .weight(this->weight)
          .bias(this->bias)
          .use_input_stats(this->is_training() || !this->options.track_running_stats())
          .momentum(this->options.momentum())
          .eps(this->options.eps());
  const Tensor result = functional::instance_norm(is_single ? input.unsqueeze(0) : input, call);
  return is_single ? result.squeeze(0) : result;
}

class TAEDA_API BatchNorm1dImpl : public BatchNormLayer<2, 3, BatchNorm1dImpl> {
 public:
  using BatchNormLayer::BatchNormLayer;
};
TAEDA_MODULE(BatchNorm1d);

class TAEDA_API BatchNorm2dImpl : public BatchNormLayer<4, 4, BatchNorm2dImpl> {
 public:
  using BatchNormLayer::BatchNormLayer;
};
TAEDA_MODULE(BatchNorm2d);

class TAEDA_API BatchNorm3dImpl : public BatchNormLayer<5, 5, BatchNorm3dImpl> {
 public:
  using BatchNormLayer::BatchNormLayer;
};
TAEDA_MODULE(BatchNorm3d);

class TAEDA_API InstanceNorm1dImpl : public InstanceNormLayer<2, 3, InstanceNorm1dImpl> {
 public:
  using InstanceNormLayer::InstanceNormLayer;
};
TAEDA_MODULE(InstanceNorm1d);

class TAEDA_API InstanceNorm2dImpl : public InstanceNormLayer<3, 4, InstanceNorm2dImpl> {
 public:
  using InstanceNormLayer::InstanceNormLayer;
};
TAEDA_MODULE(InstanceNorm2d);

class TAEDA_API InstanceNorm3dImpl : public InstanceNormLayer<4, 5, InstanceNorm3dImpl> {
 public:
  using InstanceNormLayer::InstanceNormLayer;
};
TAEDA_MODULE(InstanceNorm3d);

class TAEDA_API LayerNormImpl : public OptionModule<LayerNormImpl, LayerNormOptions> {
 public:
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);

  Tensor weight, bias;
};
TAEDA_MODULE(LayerNorm);

// Division by the root of the mean square, without a mean taken off.
class TAEDA_API RMSNormImpl : public OptionModule<RMSNormImpl, RMSNormOptions> {
 public:
  explicit RMSNormImpl(RMSNormOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);

  Tensor weight;
};
TAEDA_MODULE(RMSNorm);

class TAEDA_API GroupNormImpl : public OptionModule<GroupNormImpl, GroupNormOptions> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels)
      : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);

  Tensor weight, bias;
};
TAEDA_MODULE(GroupNorm);

class LocalResponseNormImpl : public FunctionLayer<LocalResponseNormImpl, LocalResponseNormOptions,
                                                   functional::local_response_norm, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LocalResponseNorm);

class CrossMapLRN2dImpl : public FunctionLayer<CrossMapLRN2dImpl, CrossMapLRN2dOptions,
                                               functional::cross_map_lrn2d, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CrossMapLRN2d);

}  // namespace taeda::nn
