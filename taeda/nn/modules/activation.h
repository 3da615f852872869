// Activations: layers without tensors that call one function, and PReLU.
#pragma once

#include "taeda/nn/functional/activation.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

template <class Derived, class Options, auto function, class Input = const Tensor&>
using ActivationLayer = FunctionLayer<Derived, Options, function, Input>;

class ReLUImpl : public ActivationLayer<ReLUImpl, ReLUOptions, functional::relu, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(ReLU);

class ReLU6Impl : public ActivationLayer<ReLU6Impl, ReLU6Options, functional::relu6, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(ReLU6);

class SELUImpl : public ActivationLayer<SELUImpl, SELUOptions, functional::selu, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(SELU);

class ELUImpl : public ActivationLayer<ELUImpl, ELUOptions, functional::elu, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(ELU);

class CELUImpl : public ActivationLayer<CELUImpl, CELUOptions, functional::celu, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(CELU);

class LeakyReLUImpl
    : public ActivationLayer<LeakyReLUImpl, LeakyReLUOptions, functional::leaky_relu, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LeakyReLU);

class HardtanhImpl
    : public ActivationLayer<HardtanhImpl, HardtanhOptions, functional::hardtanh, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Hardtanh);

class ThresholdImpl
    : public ActivationLayer<ThresholdImpl, ThresholdOptions, functional::threshold, Tensor> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Threshold);

class HardshrinkImpl
    : public ActivationLayer<HardshrinkImpl, HardshrinkOptions, functional::hardshrink> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Hardshrink);

class SoftshrinkImpl
    : public ActivationLayer<SoftshrinkImpl, SoftshrinkOptions, functional::softshrink> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Softshrink);

class SoftplusImpl : public ActivationLayer<SoftplusImpl, SoftplusOptions, functional::softplus> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Softplus);

class GELUImpl : public ActivationLayer<GELUImpl, GELUOptions, functional::gelu> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(GELU);

class GLUImpl : public ActivationLayer<GLUImpl, GLUOptions, functional::glu> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(GLU);

class SoftmaxImpl : public ActivationLayer<SoftmaxImpl, SoftmaxOptions, functional::softmax> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Softmax);

class SoftminImpl : public ActivationLayer<SoftminImpl, SoftminOptions, functional::softmin> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(Softmin);

class LogSoftmaxImpl
    : public ActivationLayer<LogSoftmaxImpl, LogSoftmaxOptions, functional::log_softmax> {
 public:
  using FunctionLayer::FunctionLayer;
};
TAEDA_MODULE(LogSoftmax);

class SiLUImpl : public ActivationLayer<SiLUImpl, NoOptions, functional::silu> {};
TAEDA_MODULE(SiLU);

class MishImpl : public ActivationLayer<MishImpl, NoOptions, functional::mish> {};
TAEDA_MODULE(Mish);

class LogSigmoidImpl : public ActivationLayer<LogSigmoidImpl, NoOptions, functional::logsigmoid> {};
TAEDA_MODULE(LogSigmoid);

class SoftsignImpl : public ActivationLayer<SoftsignImpl, NoOptions, functional::softsign> {};
TAEDA_MODULE(Softsign);

class TanhshrinkImpl : public ActivationLayer<TanhshrinkImpl, NoOptions, functional::tanhshrink> {};
TAEDA_MODULE(Tanhshrink);

class HardsigmoidImpl
    : public ActivationLayer<HardsigmoidImpl, NoOptions, functional::hardsigmoid> {};
TAEDA_MODULE(Hardsigmoid);

class HardswishImpl : public ActivationLayer<HardswishImpl, NoOptions, functional::hardswish> {};
TAEDA_MODULE(Hardswish);

class SigmoidImpl : public ActivationLayer<SigmoidImpl, NoOptions, functional::sigmoid> {};
TAEDA_MODULE(Sigmoid);

class TanhImpl : public ActivationLayer<TanhImpl, NoOptions, functional::tanh> {};
TAEDA_MODULE(Tanh);

// The softmax over the channels of (N, C, H, W) or (C, H, W).
class TAEDA_API Softmax2dImpl : public OptionModule<Softmax2dImpl, NoOptions> {
 public:
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softmax2d);

// A slope below zero that is random in training.
class TAEDA_API RReLUImpl : public OptionModule<RReLUImpl, RReLUOptions> {
 public:
  using OptionModule::OptionModule;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(RReLU);

class TAEDA_API PReLUImpl : public OptionModule<PReLUImpl, PReLUOptions> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);

  Tensor weight;
};
TAEDA_MODULE(PReLU);

}  // namespace taeda::nn
