// Linear layers and changes of shape.
#include "taeda/nn/modules/linear.h"

#include <cmath>
#include <ostream>

#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

LinearImpl::LinearImpl(const LinearOptions& options) : options(options) { LinearImpl::reset(); }

void LinearImpl::reset() {
  const SymInt in = options.in_features(), out = options.out_features();
  weight = register_parameter("weight", taeda::empty({out, in}));
  bias = register_parameter("bias", options.bias() ? taeda::empty({out}) : Tensor());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t in = init::calculate_fan_in_and_fan_out(weight).first;
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  init::uniform_(bias, -bound, bound);
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "taeda::nn::Linear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << ", bias=" << options.bias() << ")";
}

Tensor LinearImpl::forward(const Tensor& input) { return taeda::linear(input, weight, bias); }

void IdentityImpl::pretty_print(std::ostream& stream) const { stream << "taeda::nn::Identity()"; }

void FlattenImpl::pretty_print(std::ostream& stream) const {
  stream << "taeda::nn::Flatten(start_dim=" << options.start_dim()
         << ", end_dim=" << options.end_dim() << ")";
}

Tensor FlattenImpl::forward(const Tensor& input) {
  return input.flatten(options.start_dim(), options.end_dim());
}

}  // namespace taeda::nn
