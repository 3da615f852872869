// Linear layers and changes of shape.
#include "taeda/nn/modules/linear.h"

#include <cmath>

#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

LinearImpl::LinearImpl(const LinearOptions& options) : OptionModule(options) {
  LinearImpl::reset();
}

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

Tensor LinearImpl::forward(const Tensor& input) { return functional::linear(input, weight, bias); }

BilinearImpl::BilinearImpl(const BilinearOptions& options) : OptionModule(options) {
  BilinearImpl::reset();
}

void BilinearImpl::reset() {
  const SymInt in1 = options.in1_features(), in2 = options.in2_features();
  const SymInt out = options.out_features();
  weight = register_parameter("weight", taeda::empty({out, in1, in2}));
  bias = register_parameter("bias", options.bias() ? taeda::empty({out}) : Tensor());
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::bilinear(input1, input2, weight, bias);
}

Tensor FlattenImpl::forward(const Tensor& input) {
  return input.flatten(options.start_dim(), options.end_dim());
}

Tensor UnflattenImpl::forward(const Tensor& input) {
  return taeda::unflatten(input, options.dim(), options.sizes());
}

}  // namespace taeda::nn
