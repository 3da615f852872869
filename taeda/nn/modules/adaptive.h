// A softmax over many classes, most of which are rare: they come in clusters of their own.
#pragma once

#include <vector>

#include "taeda/nn/modules/container.h"
#include "taeda/nn/modules/linear.h"

namespace taeda::nn {

// `cutoffs` are the ends of the frequent classes and of the clusters, without the last one.
struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes,
                                    std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TAEDA_ARG(int64_t, in_features);
  TAEDA_ARG(int64_t, n_classes);
  TAEDA_ARG(std::vector<int64_t>, cutoffs);
  TAEDA_ARG(double, div_value) = 4.0;
  TAEDA_ARG(bool, head_bias) = false;
};

// The logarithm of the probability of each target, and the loss: minus their mean. The loss is a
// number, as in PyTorch: train with -output.mean().
struct ASMoutput {
  ASMoutput(Tensor output, double loss) : output(std::move(output)), loss(loss) {}
  Tensor output;
  double loss;
};

class TAEDA_API AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes,
                                 std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(
            AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options);
  void reset() override;
  void reset_parameters();
  ASMoutput forward(const Tensor& input, const Tensor& target);
  // Of all classes, and the likeliest one.
  Tensor log_prob(const Tensor& input);
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  Linear head = nullptr;
  ModuleList tail = nullptr;

 private:
  Tensor cluster(size_t i, const Tensor& input);
  Tensor full_log_prob(const Tensor& input, const Tensor& head_output);
};
TAEDA_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace taeda::nn
