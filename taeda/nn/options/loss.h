// Options of losses. Of a batch they give the mean, the sum, or a value per element (kNone).
#pragma once

#include <functional>
#include <optional>
#include <tuple>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

using LossReduction = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;

// What all losses have: a reduction, which may stand for the options.
struct ReductionOptions {
  using reduction_t = LossReduction;
  ReductionOptions() = default;
  ReductionOptions(enumtype::kNone choice) : reduction_(choice) {}  // NOLINT: converts
  ReductionOptions(enumtype::kMean choice) : reduction_(choice) {}  // NOLINT: converts
  ReductionOptions(enumtype::kSum choice) : reduction_(choice) {}   // NOLINT: converts
  TAEDA_ARG(reduction_t, reduction) = kMean;
};
using L1LossOptions = ReductionOptions;
using MSELossOptions = ReductionOptions;
using SoftMarginLossOptions = ReductionOptions;
using MultiLabelMarginLossOptions = ReductionOptions;

struct SmoothL1LossOptions {
  using reduction_t = LossReduction;
  SmoothL1LossOptions() = default;
  SmoothL1LossOptions(enumtype::kNone choice) : reduction_(choice) {}  // NOLINT: converts
  SmoothL1LossOptions(enumtype::kMean choice) : reduction_(choice) {}  // NOLINT: converts
  SmoothL1LossOptions(enumtype::kSum choice) : reduction_(choice) {}   // NOLINT: converts
  TAEDA_ARG(std::optional<double>, beta) = std::nullopt;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct HuberLossOptions {
  using reduction_t = LossReduction;
  HuberLossOptions() = default;
  HuberLossOptions(enumtype::kNone choice) : reduction_(choice) {}  // NOLINT: converts
  HuberLossOptions(enumtype::kMean choice) : reduction_(choice) {}  // NOLINT: converts
  HuberLossOptions(enumtype::kSum choice) : reduction_(choice) {}   // NOLINT: converts
  TAEDA_ARG(double, delta) = 1.0;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

// `full` adds the constant term; variances are at least `eps`.
struct GaussianNLLLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(bool, full) = false;
  TAEDA_ARG(double, eps) = 1e-6;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct BCELossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct BCEWithLogitsLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, pos_weight) = {};
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct NLLLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(int64_t, ignore_index) = -100;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct CrossEntropyLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(int64_t, ignore_index) = -100;
  TAEDA_ARG(double, label_smoothing) = 0.0;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct HingeEmbeddingLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(double, margin) = 1.0;
  TAEDA_ARG(reduction_t, reduction) = kMean;

 public:
  auto fields() const { return std::tuple(Field{"margin", margin()}); }
};

struct CosineEmbeddingLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(double, margin) = 0.0;
  TAEDA_ARG(reduction_t, reduction) = kMean;

 public:
  auto fields() const { return std::tuple(Field{"margin", margin()}); }
};

struct MarginRankingLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(double, margin) = 0.0;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct MultiMarginLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(int64_t, p) = 1;
  TAEDA_ARG(double, margin) = 1.0;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(reduction_t, reduction) = kMean;

 public:
  auto fields() const { return std::tuple(Field{"p", p()}, Field{"margin", margin()}); }
};

struct MultiLabelSoftMarginLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct TripletMarginLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(double, margin) = 1.0;
  TAEDA_ARG(double, p) = 2.0;
  TAEDA_ARG(double, eps) = 1e-6;
  TAEDA_ARG(bool, swap) = false;
  TAEDA_ARG(reduction_t, reduction) = kMean;

 public:
  auto fields() const {
    return std::tuple(Field{"margin", margin()}, Field{"p", p()}, Field{"eps", eps()},
                      Field{"swap", swap()});
  }
};

struct CTCLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(int64_t, blank) = 0;
  TAEDA_ARG(bool, zero_infinity) = false;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct PoissonNLLLossOptions {
  using reduction_t = LossReduction;
  TAEDA_ARG(bool, log_input) = true;
  TAEDA_ARG(bool, full) = false;
  TAEDA_ARG(double, eps) = 1e-8;
  TAEDA_ARG(reduction_t, reduction) = kMean;
};

struct KLDivLossOptions {
  using reduction_t =
      std::variant<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
  KLDivLossOptions() = default;
  KLDivLossOptions(enumtype::kNone choice) : reduction_(choice) {}       // NOLINT: converts
  KLDivLossOptions(enumtype::kBatchMean choice) : reduction_(choice) {}  // NOLINT: converts
  KLDivLossOptions(enumtype::kSum choice) : reduction_(choice) {}        // NOLINT: converts
  KLDivLossOptions(enumtype::kMean choice) : reduction_(choice) {}       // NOLINT: converts
  TAEDA_ARG(reduction_t, reduction) = kMean;
  TAEDA_ARG(bool, log_target) = false;
};

struct TripletMarginWithDistanceLossOptions {
  using reduction_t = LossReduction;
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  TAEDA_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
  TAEDA_ARG(double, margin) = 1.0;
  TAEDA_ARG(bool, swap) = false;
  TAEDA_ARG(reduction_t, reduction) = kMean;

 public:
  auto fields() const { return std::tuple(Field{"margin", margin()}, Field{"swap", swap()}); }
};

namespace functional {
using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using GaussianNLLLossFuncOptions = GaussianNLLLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
}  // namespace functional

}  // namespace taeda::nn
