// Dropout as functions.
#include "taeda/nn/functional/dropout.h"

#include "taeda/ops/dropout/functions.h"

namespace taeda::nn::functional {
namespace {

// The operator, or its form that writes in place.
template <class Options>
Tensor dropped(Tensor input, const Options& options, Tensor (*plain)(const Tensor&, double, bool),
               Tensor& (*inplace)(Tensor&, double, bool)) {
  TAEDA_CHECK(options.p() >= 0 && options.p() <= 1,
              "dropout probability has to be between 0 and 1, but got ", options.p());
  return options.inplace() ? inplace(input, options.p(), options.training())
                           : plain(input, options.p(), options.training());
}

}  // namespace

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  return dropped(std::move(input), options, taeda::dropout, taeda::dropout_);
}

Tensor dropout1d(Tensor input, const Dropout1dFuncOptions& options) {
  return dropped(std::move(input), options, taeda::dropout1d, taeda::dropout1d_);
}

Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  return dropped(std::move(input), options, taeda::feature_dropout, taeda::feature_dropout_);
}

Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  return dropped(std::move(input), options, taeda::feature_dropout, taeda::feature_dropout_);
}

Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options) {
  return dropped(std::move(input), options, taeda::alpha_dropout, taeda::alpha_dropout_);
}

Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options) {
  return dropped(std::move(input), options, taeda::feature_alpha_dropout,
                 taeda::feature_alpha_dropout_);
}

}  // namespace taeda::nn::functional
