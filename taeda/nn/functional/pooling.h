// Pooling as functions; those with indices also give the place of each maximum.
#pragma once

#include <tuple>

#include "taeda/nn/options/pooling.h"

namespace taeda::nn::functional {

using TensorPair = std::tuple<Tensor, Tensor>;

TAEDA_API Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
TAEDA_API Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
TAEDA_API Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options);
TAEDA_API Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
TAEDA_API Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
TAEDA_API Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options);
TAEDA_API TensorPair max_pool1d_with_indices(const Tensor& input,
                                             const MaxPool1dFuncOptions& options);
TAEDA_API TensorPair max_pool2d_with_indices(const Tensor& input,
                                             const MaxPool2dFuncOptions& options);
TAEDA_API TensorPair max_pool3d_with_indices(const Tensor& input,
                                             const MaxPool3dFuncOptions& options);
TAEDA_API Tensor adaptive_avg_pool1d(const Tensor& input,
                                     const AdaptiveAvgPool1dFuncOptions& options);
TAEDA_API Tensor adaptive_avg_pool2d(const Tensor& input,
                                     const AdaptiveAvgPool2dFuncOptions& options);
TAEDA_API Tensor adaptive_avg_pool3d(const Tensor& input,
                                     const AdaptiveAvgPool3dFuncOptions& options);
TAEDA_API Tensor adaptive_max_pool1d(const Tensor& input,
                                     const AdaptiveMaxPool1dFuncOptions& options);
TAEDA_API Tensor adaptive_max_pool2d(const Tensor& input,
                                     const AdaptiveMaxPool2dFuncOptions& options);
TAEDA_API Tensor adaptive_max_pool3d(const Tensor& input,
                                     const AdaptiveMaxPool3dFuncOptions& options);
TAEDA_API TensorPair adaptive_max_pool1d_with_indices(const Tensor& input,
                                                      const AdaptiveMaxPool1dFuncOptions& options);
TAEDA_API TensorPair adaptive_max_pool2d_with_indices(const Tensor& input,
                                                      const AdaptiveMaxPool2dFuncOptions& options);
TAEDA_API TensorPair adaptive_max_pool3d_with_indices(const Tensor& input,
                                                      const AdaptiveMaxPool3dFuncOptions& options);
TAEDA_API Tensor fractional_max_pool2d(const Tensor& input,
                                       const FractionalMaxPool2dFuncOptions& options);
TAEDA_API Tensor fractional_max_pool3d(const Tensor& input,
                                       const FractionalMaxPool3dFuncOptions& options);
TAEDA_API TensorPair fractional_max_pool2d_with_indices(
    const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
TAEDA_API TensorPair fractional_max_pool3d_with_indices(
    const Tensor& input, const FractionalMaxPool3dFuncOptions& options);
TAEDA_API Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options);
TAEDA_API Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options);
TAEDA_API Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options);
// The inverse of max_pool with its indices; other places are zero.
TAEDA_API Tensor max_unpool1d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool1dFuncOptions& options);
TAEDA_API Tensor max_unpool2d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool2dFuncOptions& options);
TAEDA_API Tensor max_unpool3d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool3dFuncOptions& options);

}  // namespace taeda::nn::functional
