// Linear maps and distances as functions.
#include "taeda/nn/functional/linear.h"

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return taeda::linear(input, weight, bias);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  return taeda::bilinear(input1, input2, weight, bias);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                         const CosineSimilarityFuncOptions& options) {
  return taeda::cosine_similarity(x1, x2, options.dim(), options.eps());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                         const PairwiseDistanceFuncOptions& options) {
  return taeda::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

Tensor pdist(const Tensor& input, double p) { return taeda::pdist(input, p); }

}  // namespace taeda::nn::functional
