// Batch and layer normalization.
#pragma once

#include <optional>
#include <vector>

#include "taeda/nn/option_module.h"

namespace taeda::nn {

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, num_features);
  TAEDA_ARG(double, eps) = 1e-5;
  TAEDA_ARG(std::optional<double>, momentum) = 0.1;
  TAEDA_ARG(bool, affine) = true;
  TAEDA_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

// The channels, dimension 1, brought to mean 0 and variance 1. Subclasses name the ranks they take.
class TAEDA_API BatchNormBase : public Module {
 public:
  explicit BatchNormBase(BatchNormOptions options);
  void reset_running_stats();
  void reset_parameters();
  Tensor forward(const Tensor& input);

  BatchNormOptions options;
  Tensor weight, bias;
  Tensor running_mean, running_var, num_batches_tracked;

 protected:
  virtual void check_input_dim(const Tensor& input) const = 0;
  void print(std::ostream& stream, std::string_view name) const;
};

template <class Derived>
class BatchNormRank : public BatchNormBase {
 public:
  using BatchNormBase::BatchNormBase;
  Ptr clone(const std::optional<Device>& device = std::nullopt) const override {
    const auto copy = std::make_shared<Derived>(this->options);
    copy->take_tensors(*this, device);
    copy->train(this->is_training());
    return copy;
  }
};

class TAEDA_API BatchNorm1dImpl : public BatchNormRank<BatchNorm1dImpl> {
 public:
  using BatchNormRank::BatchNormRank;
  void pretty_print(std::ostream& stream) const override { print(stream, "BatchNorm1d"); }

 protected:
  void check_input_dim(const Tensor& input) const override;
  template <class>
  friend class BatchNormRank;
};
TAEDA_MODULE(BatchNorm1d);

class TAEDA_API BatchNorm2dImpl : public BatchNormRank<BatchNorm2dImpl> {
 public:
  using BatchNormRank::BatchNormRank;
  void pretty_print(std::ostream& stream) const override { print(stream, "BatchNorm2d"); }

 protected:
  void check_input_dim(const Tensor& input) const override;
  template <class>
  friend class BatchNormRank;
};
TAEDA_MODULE(BatchNorm2d);

class TAEDA_API BatchNorm3dImpl : public BatchNormRank<BatchNorm3dImpl> {
 public:
  using BatchNormRank::BatchNormRank;
  void pretty_print(std::ostream& stream) const override { print(stream, "BatchNorm3d"); }

 protected:
  void check_input_dim(const Tensor& input) const override;
  template <class>
  friend class BatchNormRank;
};
TAEDA_MODULE(BatchNorm3d);

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape)  // NOLINT: converts
      : normalized_shape_(std::move(normalized_shape)) {}
  TAEDA_ARG(std::vector<int64_t>, normalized_shape);
  TAEDA_ARG(double, eps) = 1e-5;
  TAEDA_ARG(bool, elementwise_affine) = true;
};

class TAEDA_API LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight, bias;
};
TAEDA_MODULE(LayerNorm);

}  // namespace taeda::nn
