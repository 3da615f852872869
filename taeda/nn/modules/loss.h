// Losses.
#pragma once

#include "taeda/nn/functional/loss.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

// A loss of an input and a target.
template <class Derived, class Options,
          Tensor (*function)(const Tensor&, const Tensor&, const Options&)>
using LossLayer = FunctionLayer<Derived, Options, function, const Tensor&, const Tensor&>;
// A loss of two inputs and a target, or of an anchor and two examples.
template <class Derived, class Options, auto function>
using TripletLossLayer =
    FunctionLayer<Derived, Options, function, const Tensor&, const Tensor&, const Tensor&>;

class L1LossImpl : public LossLayer<L1LossImpl, L1LossOptions, functional::l1_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(L1Loss);

class MSELossImpl : public LossLayer<MSELossImpl, MSELossOptions, functional::mse_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(MSELoss);

// The one of two functions with that name: nvcc drops what says which.
inline Tensor smooth_l1_loss_by_options(const Tensor& input, const Tensor& target,
                                        const SmoothL1LossOptions& options) {
  return functional::smooth_l1_loss(input, target, options);
}
class SmoothL1LossImpl
    : public LossLayer<SmoothL1LossImpl, SmoothL1LossOptions, smooth_l1_loss_by_options> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(SmoothL1Loss);

class HuberLossImpl : public LossLayer<HuberLossImpl, HuberLossOptions, functional::huber_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(HuberLoss);

// Of a mean, a target and a variance.
class GaussianNLLLossImpl : public TripletLossLayer<GaussianNLLLossImpl, GaussianNLLLossOptions,
                                                    functional::gaussian_nll_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(GaussianNLLLoss);

class SoftMarginLossImpl
    : public LossLayer<SoftMarginLossImpl, SoftMarginLossOptions, functional::soft_margin_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(SoftMarginLoss);

class KLDivLossImpl : public LossLayer<KLDivLossImpl, KLDivLossOptions, functional::kl_div> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(KLDivLoss);

class NLLLossImpl : public LossLayer<NLLLossImpl, NLLLossOptions, functional::nll_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(NLLLoss);

class CrossEntropyLossImpl
    : public LossLayer<CrossEntropyLossImpl, CrossEntropyLossOptions, functional::cross_entropy> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CrossEntropyLoss);

class BCELossImpl
    : public LossLayer<BCELossImpl, BCELossOptions, functional::binary_cross_entropy> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(BCELoss);

class BCEWithLogitsLossImpl : public LossLayer<BCEWithLogitsLossImpl, BCEWithLogitsLossOptions,
                                               functional::binary_cross_entropy_with_logits> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(BCEWithLogitsLoss);

class HingeEmbeddingLossImpl : public LossLayer<HingeEmbeddingLossImpl, HingeEmbeddingLossOptions,
                                                functional::hinge_embedding_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(HingeEmbeddingLoss);

class MultiMarginLossImpl
    : public LossLayer<MultiMarginLossImpl, MultiMarginLossOptions, functional::multi_margin_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(MultiMarginLoss);

class MultiLabelMarginLossImpl
    : public LossLayer<MultiLabelMarginLossImpl, MultiLabelMarginLossOptions,
                       functional::multilabel_margin_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(MultiLabelMarginLoss);

class MultiLabelSoftMarginLossImpl
    : public LossLayer<MultiLabelSoftMarginLossImpl, MultiLabelSoftMarginLossOptions,
                       functional::multilabel_soft_margin_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(MultiLabelSoftMarginLoss);

class PoissonNLLLossImpl
    : public LossLayer<PoissonNLLLossImpl, PoissonNLLLossOptions, functional::poisson_nll_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(PoissonNLLLoss);

class CosineEmbeddingLossImpl
    : public TripletLossLayer<CosineEmbeddingLossImpl, CosineEmbeddingLossOptions,
                              functional::cosine_embedding_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CosineEmbeddingLoss);

class MarginRankingLossImpl
    : public TripletLossLayer<MarginRankingLossImpl, MarginRankingLossOptions,
                              functional::margin_ranking_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(MarginRankingLoss);

class TripletMarginLossImpl
    : public TripletLossLayer<TripletMarginLossImpl, TripletMarginLossOptions,
                              functional::triplet_margin_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(TripletMarginLoss);

class TripletMarginWithDistanceLossImpl
    : public TripletLossLayer<TripletMarginWithDistanceLossImpl,
                              TripletMarginWithDistanceLossOptions,
                              functional::triplet_margin_with_distance_loss> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(TripletMarginWithDistanceLoss);

// Of logarithms of probabilities, targets, and the lengths of both.
class CTCLossImpl
    : public FunctionLayer<CTCLossImpl, CTCLossOptions, functional::ctc_loss, const Tensor&,
                           const Tensor&, const Tensor&, const Tensor&> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CTCLoss);

}  // namespace taeda::nn
