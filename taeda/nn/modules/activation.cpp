// Activations.
#include "taeda/nn/modules/activation.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::nn {

void ReLUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "ReLU", std::pair("inplace", options.inplace()));
}

Tensor ReLUImpl::forward(Tensor input) {
  return options.inplace() ? taeda::relu_(input) : taeda::relu(input);
}

void ReLU6Impl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "ReLU6", std::pair("inplace", options.inplace()));
}

Tensor ReLU6Impl::forward(Tensor input) {
  return options.inplace() ? taeda::relu6_(input) : taeda::relu6(input);
}

void SELUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "SELU", std::pair("inplace", options.inplace()));
}

Tensor SELUImpl::forward(Tensor input) {
  return options.inplace() ? taeda::selu_(input) : taeda::selu(input);
}

void SiLUImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "SiLU"); }

Tensor SiLUImpl::forward(const Tensor& input) { return taeda::silu(input); }

void MishImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Mish"); }

Tensor MishImpl::forward(const Tensor& input) { return taeda::mish(input); }

void SigmoidImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Sigmoid"); }

Tensor SigmoidImpl::forward(const Tensor& input) { return taeda::sigmoid(input); }

void TanhImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Tanh"); }

Tensor TanhImpl::forward(const Tensor& input) { return taeda::tanh(input); }

void SoftsignImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Softsign"); }

Tensor SoftsignImpl::forward(const Tensor& input) { return taeda::softsign(input); }

void TanhshrinkImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Tanhshrink"); }

Tensor TanhshrinkImpl::forward(const Tensor& input) { return taeda::tanhshrink(input); }

void LogSigmoidImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "LogSigmoid"); }

Tensor LogSigmoidImpl::forward(const Tensor& input) { return taeda::log_sigmoid(input); }

void HardsigmoidImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Hardsigmoid");
}

Tensor HardsigmoidImpl::forward(const Tensor& input) { return taeda::hardsigmoid(input); }

void HardswishImpl::pretty_print(std::ostream& stream) const { print_layer(stream, "Hardswish"); }

Tensor HardswishImpl::forward(const Tensor& input) { return taeda::hardswish(input); }

void ELUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "ELU", std::pair("alpha", options.alpha()),
              std::pair("inplace", options.inplace()));
}

Tensor ELUImpl::forward(Tensor input) {
  return options.inplace() ? taeda::elu_(input, options.alpha())
                           : taeda::elu(input, options.alpha());
}

void CELUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "CELU", std::pair("alpha", options.alpha()),
              std::pair("inplace", options.inplace()));
}

Tensor CELUImpl::forward(Tensor input) {
  return options.inplace() ? taeda::celu_(input, options.alpha())
                           : taeda::celu(input, options.alpha());
}

void LeakyReLUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "LeakyReLU", std::pair("negative_slope", options.negative_slope()),
              std::pair("inplace", options.inplace()));
}

Tensor LeakyReLUImpl::forward(Tensor input) {
  return options.inplace() ? taeda::leaky_relu_(input, options.negative_slope())
                           : taeda::leaky_relu(input, options.negative_slope());
}

void HardtanhImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Hardtanh", std::pair("min_val", options.min_val()),
              std::pair("max_val", options.max_val()), std::pair("inplace", options.inplace()));
}

Tensor HardtanhImpl::forward(Tensor input) {
  return options.inplace() ? taeda::hardtanh_(input, options.min_val(), options.max_val())
                           : taeda::hardtanh(input, options.min_val(), options.max_val());
}

void ThresholdImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Threshold", std::pair("threshold", options.threshold()),
              std::pair("value", options.value()), std::pair("inplace", options.inplace()));
}

Tensor ThresholdImpl::forward(Tensor input) {
  return options.inplace() ? taeda::threshold_(input, options.threshold(), options.value())
                           : taeda::threshold(input, options.threshold(), options.value());
}

void HardshrinkImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Hardshrink", std::pair("lambda", options.lambda()));
}

Tensor HardshrinkImpl::forward(const Tensor& input) {
  return taeda::hardshrink(input, options.lambda());
}

void SoftshrinkImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Softshrink", std::pair("lambda", options.lambda()));
}

Tensor SoftshrinkImpl::forward(const Tensor& input) {
  return taeda::softshrink(input, options.lambda());
}

void SoftplusImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Softplus", std::pair("beta", options.beta()),
              std::pair("threshold", options.threshold()));
}

Tensor SoftplusImpl::forward(const Tensor& input) {
  return taeda::softplus(input, options.beta(), options.threshold());
}

void GELUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "GELU", std::pair("approximate", options.approximate()));
}

Tensor GELUImpl::forward(const Tensor& input) { return taeda::gelu(input, options.approximate()); }

void GLUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "GLU", std::pair("dim", options.dim()));
}

Tensor GLUImpl::forward(const Tensor& input) { return taeda::glu(input, options.dim()); }

void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Softmax", std::pair("dim", options.dim()));
}

Tensor SoftmaxImpl::forward(const Tensor& input) { return taeda::softmax(input, options.dim()); }

void SoftminImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Softmin", std::pair("dim", options.dim()));
}

Tensor SoftminImpl::forward(const Tensor& input) { return taeda::softmin(input, options.dim()); }

void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "LogSoftmax", std::pair("dim", options.dim()));
}

Tensor LogSoftmaxImpl::forward(const Tensor& input) {
  return taeda::log_softmax(input, options.dim());
}

PReLUImpl::PReLUImpl(const PReLUOptions& options) : options(options) { PReLUImpl::reset(); }

void PReLUImpl::reset() {
  const SymInt count = options.num_parameters();
  weight = register_parameter("weight", taeda::full({count}, options.init()));
}

void PReLUImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "PReLU", std::pair("num_parameters", options.num_parameters()));
}

Tensor PReLUImpl::forward(const Tensor& input) { return taeda::prelu(input, weight); }

}  // namespace taeda::nn
