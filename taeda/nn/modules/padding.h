// Padding in one, two and three dimensions.
#pragma once

#include "taeda/nn/functional/padding.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

// Fills with a constant, or by what the mode takes from the input.
template <class Derived, class Options, class Mode>
class PaddingLayer : public OptionModule<Derived, Options> {
 public:
  using OptionModule<Derived, Options>::OptionModule;
  Tensor forward(const Tensor& input) {
    const auto& padding = *this->options.padding();
    auto call = functional::PadFuncOptions(std::vector<int64_t>(padding.begin(), padding.end()));
    if constexpr (requires { this->options.value(); }) call.value(this->options.value());
    return functional::pad(input, call.mode(Mode()));
  }
};

class ReflectionPad1dImpl
    : public PaddingLayer<ReflectionPad1dImpl, ReflectionPad1dOptions, enumtype::kReflect> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReflectionPad1d);

class ReflectionPad2dImpl
    : public PaddingLayer<ReflectionPad2dImpl, ReflectionPad2dOptions, enumtype::kReflect> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReflectionPad2d);

class ReflectionPad3dImpl
    : public PaddingLayer<ReflectionPad3dImpl, ReflectionPad3dOptions, enumtype::kReflect> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReflectionPad3d);

class ReplicationPad1dImpl
    : public PaddingLayer<ReplicationPad1dImpl, ReplicationPad1dOptions, enumtype::kReplicate> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReplicationPad1d);

class ReplicationPad2dImpl
    : public PaddingLayer<ReplicationPad2dImpl, ReplicationPad2dOptions, enumtype::kReplicate> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReplicationPad2d);

class ReplicationPad3dImpl
    : public PaddingLayer<ReplicationPad3dImpl, ReplicationPad3dOptions, enumtype::kReplicate> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ReplicationPad3d);

class CircularPad1dImpl
    : public PaddingLayer<CircularPad1dImpl, CircularPad1dOptions, enumtype::kCircular> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(CircularPad1d);

class CircularPad2dImpl
    : public PaddingLayer<CircularPad2dImpl, CircularPad2dOptions, enumtype::kCircular> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(CircularPad2d);

class CircularPad3dImpl
    : public PaddingLayer<CircularPad3dImpl, CircularPad3dOptions, enumtype::kCircular> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(CircularPad3d);

class ZeroPad1dImpl : public PaddingLayer<ZeroPad1dImpl, ZeroPad1dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ZeroPad1d);

class ZeroPad2dImpl : public PaddingLayer<ZeroPad2dImpl, ZeroPad2dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ZeroPad2d);

class ZeroPad3dImpl : public PaddingLayer<ZeroPad3dImpl, ZeroPad3dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ZeroPad3d);

class ConstantPad1dImpl
    : public PaddingLayer<ConstantPad1dImpl, ConstantPad1dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ConstantPad1d);

class ConstantPad2dImpl
    : public PaddingLayer<ConstantPad2dImpl, ConstantPad2dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ConstantPad2d);

class ConstantPad3dImpl
    : public PaddingLayer<ConstantPad3dImpl, ConstantPad3dOptions, enumtype::kConstant> {
 public:
  using PaddingLayer::PaddingLayer;
};
TAEDA_MODULE(ConstantPad3d);

}  // namespace taeda::nn
