// Activations as functions.
#pragma once

#include "taeda/nn/options/activation.h"

namespace taeda::nn::functional {

TAEDA_API Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
TAEDA_API Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
TAEDA_API Tensor selu(Tensor input, const SELUFuncOptions& options = {});
TAEDA_API Tensor elu(Tensor input, const ELUFuncOptions& options = {});
TAEDA_API Tensor celu(Tensor input, const CELUFuncOptions& options = {});
TAEDA_API Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
TAEDA_API Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
TAEDA_API Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
TAEDA_API Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
TAEDA_API Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
TAEDA_API Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
TAEDA_API Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
TAEDA_API Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
TAEDA_API Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
TAEDA_API Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
TAEDA_API Tensor softmin(const Tensor& input, const SoftminFuncOptions& options);
TAEDA_API Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
TAEDA_API Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});
TAEDA_API Tensor silu(const Tensor& input);
TAEDA_API Tensor mish(const Tensor& input);
TAEDA_API Tensor logsigmoid(const Tensor& input);
TAEDA_API Tensor softsign(const Tensor& input);
TAEDA_API Tensor tanhshrink(const Tensor& input);
TAEDA_API Tensor hardsigmoid(const Tensor& input);
TAEDA_API Tensor hardswish(const Tensor& input);
TAEDA_API Tensor sigmoid(const Tensor& input);
TAEDA_API Tensor tanh(const Tensor& input);
TAEDA_API Tensor prelu(const Tensor& input, const Tensor& weight);

}  // namespace taeda::nn::functional
