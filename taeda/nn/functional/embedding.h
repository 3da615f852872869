// Rows of tables by index as functions.
#pragma once

#include "taeda/nn/options/embedding.h"

namespace taeda::nn::functional {

TAEDA_API Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
TAEDA_API Tensor embedding(const Tensor& input, const Tensor& weight,
                           const EmbeddingFuncOptions& options = {});
// Sums, means or maxima of the rows of each bag: a row of `input`, or the part from an offset on.
TAEDA_API Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                               const EmbeddingBagFuncOptions& options = {});

}  // namespace taeda::nn::functional
