// Losses as functions.
#include "taeda/nn/functional/loss.h"

#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/functions.h"

namespace taeda::nn::functional {
namespace {

template <class Options>
int64_t number(const Options& options) {
  return enumtype::reduction_get_enum(options.reduction());
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return taeda::l1_loss(input, target, number(options));
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  return taeda::mse_loss(input, target, number(options));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossFuncOptions& options) {
  return taeda::smooth_l1_loss(input, target, number(options), options.beta().value_or(1.0));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossFuncOptions& options, double beta) {
  TAEDA_CHECK(!options.beta(), "expected beta not to be provided in 'options', but got ",
              *options.beta());
  return taeda::smooth_l1_loss(input, target, number(options), beta);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  return taeda::huber_loss(input, target, number(options), options.delta());
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options) {
  return taeda::gaussian_nll_loss(input, target, var, options.full(), options.eps(),
                                  number(options));
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                        const SoftMarginLossFuncOptions& options) {
  return taeda::soft_margin_loss(input, target, number(options));
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  if (!std::holds_alternative<enumtype::kBatchMean>(options.reduction())) {
    return taeda::kl_div(input, target, number(options), options.log_target());
  }
  const Tensor sum = taeda::kl_div(input, target, Reduction::Sum, options.log_target());
  return input.dim() == 0 ? sum : sum / input.size(0);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return taeda::nll_loss_nd(input, target, options.weight(), number(options),
                            options.ignore_index());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyFuncOptions& options) {
  return taeda::cross_entropy_loss(input, target, options.weight(), number(options),
                                   options.ignore_index(), options.label_smoothing());
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options) {
  return taeda::binary_cross_entropy(input, target, options.weight(), number(options));
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  return taeda::binary_cross_entropy_with_logits(input, target, options.weight(),
                                                 options.pos_weight(), number(options));
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options) {
  return taeda::hinge_embedding_loss(input, target, options.margin(), number(options));
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossFuncOptions& options) {
  TAEDA_CHECK(options.p() == 1 || options.p() == 2, "only p == 1 and p == 2 supported");
  return taeda::multi_margin_loss(input, target, options.p(), options.margin(), options.weight(),
                                  number(options));
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return taeda::multilabel_margin_loss(input, target, number(options));
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  return taeda::multilabel_soft_margin_loss(input, target, options.weight(), number(options));
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNLLLossFuncOptions& options) {
  return taeda::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                 number(options));
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return taeda::cosine_embedding_loss(input1, input2, target, options.margin(), number(options));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  TAEDA_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
              "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
              "input1: ",
              input1.sizes(), ", input2: ", input2.sizes(), ", target: ", target.sizes());
  return taeda::margin_ranking_loss(input1, input2, target, options.margin(), number(options));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  return taeda::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(),
                                    options.eps(), options.swap(), number(options));
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    const auto& given = options.distance_function();
    return given ? (*given)(a, b) : taeda::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = taeda::minimum(far, distance(positive, negative));
  const Tensor loss = taeda::clamp_min(near - far + options.margin(), 0);
  const int64_t reduction = number(options);
  return reduction == Reduction::Mean  ? loss.mean()
         : reduction == Reduction::Sum ? loss.sum()
                                       : loss;
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return taeda::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                         number(options), options.zero_infinity());
}

}  // namespace taeda::nn::functional
