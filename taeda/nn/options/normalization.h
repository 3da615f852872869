// Options of normalizations.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

struct TAEDA_API BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, num_features);
  TAEDA_ARG(double, eps) = 1e-5;
  // Without it running statistics are plain means over all batches.
  TAEDA_ARG(std::optional<double>, momentum) = 0.1;
  TAEDA_ARG(bool, affine) = true;
  TAEDA_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

struct TAEDA_API InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, num_features);
  TAEDA_ARG(double, eps) = 1e-5;
  TAEDA_ARG(double, momentum) = 0.1;
  TAEDA_ARG(bool, affine) = false;
  TAEDA_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape)  // NOLINT: converts
      : normalized_shape_(std::move(normalized_shape)) {}
  TAEDA_ARG(std::vector<int64_t>, normalized_shape);
  TAEDA_ARG(double, eps) = 1e-5;
  TAEDA_ARG(bool, elementwise_affine) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"", normalized_shape()}, Field{"eps", eps()},
                      Field{"elementwise_affine", elementwise_affine()});
  }
};

// Without `eps` that of the dtype.
struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape)  // NOLINT: converts
      : normalized_shape_(std::move(normalized_shape)) {}
  TAEDA_ARG(std::vector<int64_t>, normalized_shape);
  TAEDA_ARG(std::optional<double>, eps) = std::nullopt;
  TAEDA_ARG(bool, elementwise_affine) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"", normalized_shape()},
                      Field{"eps", eps().value_or(0), eps().has_value()},
                      Field{"elementwise_affine", elementwise_affine()});
  }
};

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  TAEDA_ARG(int64_t, num_groups);
  TAEDA_ARG(int64_t, num_channels);
  TAEDA_ARG(double, eps) = 1e-5;
  TAEDA_ARG(bool, affine) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"", num_groups()}, Field{"", num_channels()}, Field{"eps", eps()},
                      Field{"affine", affine()});
  }
};

struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, size);
  TAEDA_ARG(double, alpha) = 1e-4;
  TAEDA_ARG(double, beta) = 0.75;
  TAEDA_ARG(double, k) = 1.0;

 public:
  auto fields() const {
    return std::tuple(Field{"", size()}, Field{"alpha", alpha()}, Field{"beta", beta()},
                      Field{"k", k()});
  }
};
using CrossMapLRN2dOptions = LocalResponseNormOptions;

namespace functional {

struct BatchNormFuncOptions {
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(bool, training) = false;
  TAEDA_ARG(double, momentum) = 0.1;
  TAEDA_ARG(double, eps) = 1e-5;
};
struct InstanceNormFuncOptions {
  TAEDA_ARG(Tensor, running_mean) = {};
  TAEDA_ARG(Tensor, running_var) = {};
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(bool, use_input_stats) = true;
  TAEDA_ARG(double, momentum) = 0.1;
  TAEDA_ARG(double, eps) = 1e-5;
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape)  // NOLINT: converts
      : normalized_shape_(std::move(normalized_shape)) {}
  TAEDA_ARG(std::vector<int64_t>, normalized_shape);
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(double, eps) = 1e-5;
};
struct RMSNormFuncOptions {
  RMSNormFuncOptions(std::vector<int64_t> normalized_shape)  // NOLINT: converts
      : normalized_shape_(std::move(normalized_shape)) {}
  TAEDA_ARG(std::vector<int64_t>, normalized_shape);
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(std::optional<double>, eps) = std::nullopt;
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, num_groups);
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, bias) = {};
  TAEDA_ARG(double, eps) = 1e-5;
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct NormalizeFuncOptions {
  TAEDA_ARG(double, p) = 2.0;
  TAEDA_ARG(int64_t, dim) = 1;
  TAEDA_ARG(double, eps) = 1e-12;
  TAEDA_ARG(std::optional<Tensor>, out) = std::nullopt;
};

}  // namespace functional
}  // namespace taeda::nn
