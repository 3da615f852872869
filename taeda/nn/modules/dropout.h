// Dropout in its forms, active in training.
#pragma once

#include "taeda/nn/functional/dropout.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

template <class Derived, class FuncOptions, auto function>
class DropoutLayer : public OptionModule<Derived, DropoutOptions> {
 public:
  template <class... Args>
    requires std::is_constructible_v<DropoutOptions, Args...>
  explicit DropoutLayer(Args&&... args)
      : OptionModule<Derived, DropoutOptions>(std::forward<Args>(args)...) {
    const double p = this->options.p();
    TAEDA_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  }
  Tensor forward(Tensor input) {
    return function(std::move(input), FuncOptions()
                                          .p(this->options.p())
                                          .inplace(this->options.inplace())
                                          .training(this->is_training()));
  }
};

class DropoutImpl
    : public DropoutLayer<DropoutImpl, functional::DropoutFuncOptions, functional::dropout> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(Dropout);

// Whole channels.
class Dropout1dImpl
    : public DropoutLayer<Dropout1dImpl, functional::Dropout1dFuncOptions, functional::dropout1d> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(Dropout1d);

class Dropout2dImpl
    : public DropoutLayer<Dropout2dImpl, functional::Dropout2dFuncOptions, functional::dropout2d> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(Dropout2d);

class Dropout3dImpl
    : public DropoutLayer<Dropout3dImpl, functional::Dropout3dFuncOptions, functional::dropout3d> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(Dropout3d);

// Mean and variance stay.
class AlphaDropoutImpl : public DropoutLayer<AlphaDropoutImpl, functional::AlphaDropoutFuncOptions,
                                             functional::alpha_dropout> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(AlphaDropout);

class FeatureAlphaDropoutImpl
    : public DropoutLayer<FeatureAlphaDropoutImpl, functional::FeatureAlphaDropoutFuncOptions,
                          functional::feature_alpha_dropout> {
 public:
  using DropoutLayer::DropoutLayer;
};
TAEDA_MODULE(FeatureAlphaDropout);

}  // namespace taeda::nn
