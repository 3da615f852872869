// Queries, keys and values of attention with several heads: products with its matrices.
#pragma once

#include <array>

#include "taeda/core/tensor.h"

namespace taeda::nn::functional::attention {

// Those of query, key and value, in this order.
using Three = std::array<Tensor, 3>;

// By the three parts of one matrix. Inputs that are one tensor share a product.
TAEDA_API Three in_projection_packed(const Three& inputs, const Tensor& weight, const Tensor& bias);

// By a matrix each, (features of the query, features of the input); a bias may be undefined.
TAEDA_API Three in_projection(const Three& inputs, const Three& weights, const Three& biases);

// A bias of all three in its parts; three undefined ones of an undefined one.
Three bias_parts(const Tensor& bias);

}  // namespace taeda::nn::functional::attention
