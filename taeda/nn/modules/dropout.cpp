// Dropout in its forms.
#include "taeda/nn/modules/dropout.h"

#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

DropoutBase::DropoutBase(DropoutOptions options) : options(std::move(options)) {
  const double p = this->options.p();
  TAEDA_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

void DropoutBase::print(std::ostream& stream, std::string_view name) const {
  print_layer(stream, name, std::pair("p", options.p()), std::pair("inplace", options.inplace()));
}

Tensor DropoutImpl::forward(Tensor input) {
  return options.inplace() ? taeda::dropout_(input, options.p(), is_training())
                           : taeda::dropout(input, options.p(), is_training());
}

Tensor Dropout2dImpl::forward(Tensor input) {
  return options.inplace() ? taeda::feature_dropout_(input, options.p(), is_training())
                           : taeda::feature_dropout(input, options.p(), is_training());
}

Tensor Dropout3dImpl::forward(Tensor input) {
  return options.inplace() ? taeda::feature_dropout_(input, options.p(), is_training())
                           : taeda::feature_dropout(input, options.p(), is_training());
}

Tensor AlphaDropoutImpl::forward(Tensor input) {
  return options.inplace() ? taeda::alpha_dropout_(input, options.p(), is_training())
                           : taeda::alpha_dropout(input, options.p(), is_training());
}

Tensor FeatureAlphaDropoutImpl::forward(Tensor input) {
  return options.inplace() ? taeda::feature_alpha_dropout_(input, options.p(), is_training())
                           : taeda::feature_alpha_dropout(input, options.p(), is_training());
}

}  // namespace taeda::nn
