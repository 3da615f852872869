// Linear layers, changes of shape, distances.
#pragma once

#include "taeda/nn/functional/linear.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

class IdentityImpl : public OptionModule<IdentityImpl, NoOptions> {
 public:
  Tensor forward(const Tensor& input) { return input; }
};
TAEDA_MODULE(Identity);

// input @ weight.T + bias
class TAEDA_API LinearImpl : public OptionModule<LinearImpl, LinearOptions> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);

  Tensor weight, bias;
};
TAEDA_MODULE(Linear);

// Of each output, input1 @ weight @ input2.T + bias
class TAEDA_API BilinearImpl : public OptionModule<BilinearImpl, BilinearOptions> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input1, const Tensor& input2);

  Tensor weight, bias;
};
TAEDA_MODULE(Bilinear);

class TAEDA_API FlattenImpl : public OptionModule<FlattenImpl, FlattenOptions> {
 public:
  using OptionModule::OptionModule;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Flatten);

class TAEDA_API UnflattenImpl : public OptionModule<UnflattenImpl, UnflattenOptions> {
 public:
  using OptionModule::OptionModule;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Unflatten);

class CosineSimilarityImpl
    : public FunctionLayer<CosineSimilarityImpl, CosineSimilarityOptions,
                           functional::cosine_similarity, const Tensor&, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CosineSimilarity);

class PairwiseDistanceImpl
    : public FunctionLayer<PairwiseDistanceImpl, PairwiseDistanceOptions,
                           functional::pairwise_distance, const Tensor&, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(PairwiseDistance);

}  // namespace taeda::nn
