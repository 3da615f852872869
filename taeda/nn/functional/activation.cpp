// Activations as functions.
#include "taeda/nn/functional/activation.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/random_activation/functions.h"

namespace taeda::nn::functional {

Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  return options.inplace() ? taeda::relu_(input) : taeda::relu(input);
}

Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  return options.inplace() ? taeda::relu6_(input) : taeda::relu6(input);
}

Tensor selu(Tensor input, const SELUFuncOptions& options) {
  return options.inplace() ? taeda::selu_(input) : taeda::selu(input);
}

Tensor elu(Tensor input, const ELUFuncOptions& options) {
  return options.inplace() ? taeda::elu_(input, options.alpha())
                           : taeda::elu(input, options.alpha());
}

Tensor celu(Tensor input, const CELUFuncOptions& options) {
  return options.inplace() ? taeda::celu_(input, options.alpha())
                           : taeda::celu(input, options.alpha());
}

Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  return options.inplace() ? taeda::leaky_relu_(input, options.negative_slope())
                           : taeda::leaky_relu(input, options.negative_slope());
}

Tensor rrelu(Tensor input, const RReLUFuncOptions& options) {
  return options.inplace()
             ? taeda::rrelu_(input, options.lower(), options.upper(), options.training())
             : taeda::rrelu(input, options.lower(), options.upper(), options.training());
}

Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  return options.inplace() ? taeda::hardtanh_(input, options.min_val(), options.max_val())
                           : taeda::hardtanh(input, options.min_val(), options.max_val());
}

Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  return options.inplace() ? taeda::threshold_(input, options.threshold(), options.value())
                           : taeda::threshold(input, options.threshold(), options.value());
}

Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return taeda::hardshrink(input, options.lambda());
}

Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return taeda::softshrink(input, options.lambda());
}

Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return taeda::softplus(input, options.beta(), options.threshold());
}

Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return taeda::gelu(input, options.approximate());
}

Tensor glu(const Tensor& input, const GLUFuncOptions& options) {
  TAEDA_CHECK(input.dim() != 0, "glu does not support scalars because halving size must be even");
  return taeda::glu(input, options.dim());
}

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return taeda::softmax(input, options.dim(), options.dtype());
}

Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return taeda::softmin(input, options.dim(), options.dtype());
}

Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return taeda::log_softmax(input, options.dim(), options.dtype());
}

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  return taeda::gumbel_softmax(logits, options.tau(), options.hard(), 1e-10, options.dim());
}

Tensor silu(const Tensor& input) { return taeda::silu(input); }
Tensor mish(const Tensor& input) { return taeda::mish(input); }
Tensor logsigmoid(const Tensor& input) { return taeda::log_sigmoid(input); }
Tensor softsign(const Tensor& input) { return taeda::softsign(input); }
Tensor tanhshrink(const Tensor& input) { return taeda::tanhshrink(input); }
Tensor hardsigmoid(const Tensor& input) { return taeda::hardsigmoid(input); }
Tensor hardswish(const Tensor& input) { return taeda::hardswish(input); }
Tensor sigmoid(const Tensor& input) { return taeda::sigmoid(input); }
Tensor tanh(const Tensor& input) { return taeda::tanh(input); }
Tensor prelu(const Tensor& input, const Tensor& weight) { return taeda::prelu(input, weight); }

}  // namespace taeda::nn::functional
