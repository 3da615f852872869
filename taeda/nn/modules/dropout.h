// Dropout in its forms.
#pragma once

#include "taeda/nn/option_module.h"

namespace taeda::nn {

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}  // NOLINT: converts
  TAEDA_ARG(double, p);
  TAEDA_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

// What the forms share: a probability between 0 and 1, and an operator of their own.
class TAEDA_API DropoutBase : public Module {
 public:
  explicit DropoutBase(DropoutOptions options);
  DropoutOptions options;

 protected:
  void print(std::ostream& stream, std::string_view name) const;
};

#define TAEDA_DROPOUT(Name)                                                               \
  class TAEDA_API Name##Impl : public DropoutBase {                                       \
   public:                                                                                \
    explicit Name##Impl(DropoutOptions options = {}) : DropoutBase(std::move(options)) {} \
    Ptr clone(const std::optional<Device>&) const override {                              \
      return std::make_shared<Name##Impl>(*this);                                         \
    }                                                                                     \
    void pretty_print(std::ostream& stream) const override { print(stream, #Name); }      \
    Tensor forward(Tensor input);                                                         \
  };                                                                                      \
  TAEDA_MODULE(Name)

TAEDA_DROPOUT(Dropout);
TAEDA_DROPOUT(Dropout2d);
TAEDA_DROPOUT(Dropout3d);
TAEDA_DROPOUT(AlphaDropout);
TAEDA_DROPOUT(FeatureAlphaDropout);
#undef TAEDA_DROPOUT

}  // namespace taeda::nn
