// Linear maps and distances as functions.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/nn/options/linear.h"

namespace taeda::nn::functional {

TAEDA_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
TAEDA_API Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                          const Tensor& bias = {});
TAEDA_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                                   const CosineSimilarityFuncOptions& options = {});
TAEDA_API Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                                   const PairwiseDistanceFuncOptions& options = {});
TAEDA_API Tensor pdist(const Tensor& input, double p = 2.0);

}  // namespace taeda::nn::functional
