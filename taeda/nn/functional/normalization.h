// Normalizations as functions.
#pragma once

#include "taeda/nn/options/normalization.h"

namespace taeda::nn::functional {

TAEDA_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean,
                            const Tensor& running_var, const BatchNormFuncOptions& options = {});
TAEDA_API Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
TAEDA_API Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
TAEDA_API Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options);
TAEDA_API Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
TAEDA_API Tensor local_response_norm(const Tensor& input,
                                     const LocalResponseNormFuncOptions& options);
// The same over channels alone, of (N, C, H, W).
TAEDA_API Tensor cross_map_lrn2d(const Tensor& input, const CrossMapLRN2dOptions& options);
TAEDA_API Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});

}  // namespace taeda::nn::functional
