// Losses. A reduction is None (a value per element), Mean or Sum.
#pragma once

#include "taeda/nn/option_module.h"

namespace taeda::nn {

enum class Reduction : int64_t { None = 0, Mean = 1, Sum = 2 };
TAEDA_API std::ostream& operator<<(std::ostream& stream, Reduction reduction);

struct ReductionOptions {
  ReductionOptions(Reduction reduction = Reduction::Mean) : reduction_(reduction) {}  // NOLINT
  TAEDA_ARG(Reduction, reduction);
};
using L1LossOptions = ReductionOptions;
using MSELossOptions = ReductionOptions;
using SoftMarginLossOptions = ReductionOptions;

struct SmoothL1LossOptions {
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
  TAEDA_ARG(double, beta) = 1.0;
};
struct HuberLossOptions {
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
  TAEDA_ARG(double, delta) = 1.0;
};
struct KLDivLossOptions {
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
  TAEDA_ARG(bool, log_target) = false;
};
struct NLLLossOptions {
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(int64_t, ignore_index) = -100;
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
};
struct CrossEntropyLossOptions {
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(int64_t, ignore_index) = -100;
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
  TAEDA_ARG(double, label_smoothing) = 0.0;
};
struct BCELossOptions {
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
};
struct BCEWithLogitsLossOptions {
  TAEDA_ARG(Tensor, weight) = {};
  TAEDA_ARG(Tensor, pos_weight) = {};
  TAEDA_ARG(Reduction, reduction) = Reduction::Mean;
};

// A loss of an input and a target: options, and the operator in its source.
#define TAEDA_LOSS(Name)                                                                   \
  class TAEDA_API Name##Impl : public OptionModule<Name##Impl, Name##Options> {            \
   public:                                                                                 \
    using OptionModule::OptionModule;                                                      \
    void pretty_print(std::ostream& stream) const override { print_layer(stream, #Name); } \
    Tensor forward(const Tensor& input, const Tensor& target);                             \
  };                                                                                       \
  TAEDA_MODULE(Name)

TAEDA_LOSS(L1Loss);
TAEDA_LOSS(MSELoss);
TAEDA_LOSS(SmoothL1Loss);
TAEDA_LOSS(HuberLoss);
TAEDA_LOSS(SoftMarginLoss);
TAEDA_LOSS(KLDivLoss);
TAEDA_LOSS(NLLLoss);
TAEDA_LOSS(CrossEntropyLoss);
TAEDA_LOSS(BCELoss);
TAEDA_LOSS(BCEWithLogitsLoss);
#undef TAEDA_LOSS

}  // namespace taeda::nn
