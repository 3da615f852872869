// Activations: layers without tensors that call one operator.
#pragma once

#include <string>

#include "taeda/nn/option_module.h"

namespace taeda::nn {

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}  // NOLINT: converts
  TAEDA_ARG(bool, inplace);
};

class TAEDA_API ReLUImpl : public OptionModule<ReLUImpl, ReLUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(ReLU);

struct ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}  // NOLINT: converts
  TAEDA_ARG(bool, inplace);
};

class TAEDA_API ReLU6Impl : public OptionModule<ReLU6Impl, ReLU6Options> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(ReLU6);

struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}  // NOLINT: converts
  TAEDA_ARG(bool, inplace);
};

class TAEDA_API SELUImpl : public OptionModule<SELUImpl, SELUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(SELU);

class TAEDA_API SiLUImpl : public Cloneable<SiLUImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(SiLU);

class TAEDA_API MishImpl : public Cloneable<MishImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Mish);

class TAEDA_API SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Sigmoid);

class TAEDA_API TanhImpl : public Cloneable<TanhImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Tanh);

class TAEDA_API SoftsignImpl : public Cloneable<SoftsignImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softsign);

class TAEDA_API TanhshrinkImpl : public Cloneable<TanhshrinkImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Tanhshrink);

class TAEDA_API LogSigmoidImpl : public Cloneable<LogSigmoidImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(LogSigmoid);

class TAEDA_API HardsigmoidImpl : public Cloneable<HardsigmoidImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Hardsigmoid);

class TAEDA_API HardswishImpl : public Cloneable<HardswishImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Hardswish);

struct ELUOptions {
  ELUOptions(double alpha = 1.0) : alpha_(alpha) {}  // NOLINT: converts
  TAEDA_ARG(double, alpha);
  TAEDA_ARG(bool, inplace) = false;
};

class TAEDA_API ELUImpl : public OptionModule<ELUImpl, ELUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(ELU);

struct CELUOptions {
  CELUOptions(double alpha = 1.0) : alpha_(alpha) {}  // NOLINT: converts
  TAEDA_ARG(double, alpha);
  TAEDA_ARG(bool, inplace) = false;
};

class TAEDA_API CELUImpl : public OptionModule<CELUImpl, CELUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(CELU);

struct LeakyReLUOptions {
  LeakyReLUOptions(double negative_slope = 1e-2)
      : negative_slope_(negative_slope) {}  // NOLINT: converts
  TAEDA_ARG(double, negative_slope);
  TAEDA_ARG(bool, inplace) = false;
};

class TAEDA_API LeakyReLUImpl : public OptionModule<LeakyReLUImpl, LeakyReLUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(LeakyReLU);

struct HardtanhOptions {
  HardtanhOptions(double min_val = -1.0) : min_val_(min_val) {}  // NOLINT: converts
  TAEDA_ARG(double, min_val);
  TAEDA_ARG(double, max_val) = 1.0;
  TAEDA_ARG(bool, inplace) = false;
};

class TAEDA_API HardtanhImpl : public OptionModule<HardtanhImpl, HardtanhOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(Hardtanh);

struct ThresholdOptions {
  ThresholdOptions(double threshold, double value)
      : threshold_(threshold), value_(value) {}  // NOLINT: converts
  TAEDA_ARG(double, threshold);
  TAEDA_ARG(double, value);
  TAEDA_ARG(bool, inplace) = false;
};

class TAEDA_API ThresholdImpl : public OptionModule<ThresholdImpl, ThresholdOptions> {
 public:
  explicit ThresholdImpl(double threshold, double value)
      : ThresholdImpl(ThresholdOptions(threshold, value)) {}
  explicit ThresholdImpl(const ThresholdOptions& options) : OptionModule(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
};
TAEDA_MODULE(Threshold);

struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}  // NOLINT: converts
  TAEDA_ARG(double, lambda);
};

class TAEDA_API HardshrinkImpl : public OptionModule<HardshrinkImpl, HardshrinkOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Hardshrink);

struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}  // NOLINT: converts
  TAEDA_ARG(double, lambda);
};

class TAEDA_API SoftshrinkImpl : public OptionModule<SoftshrinkImpl, SoftshrinkOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softshrink);

struct SoftplusOptions {
  SoftplusOptions(double beta = 1.0) : beta_(beta) {}  // NOLINT: converts
  TAEDA_ARG(double, beta);
  TAEDA_ARG(double, threshold) = 20.0;
};

class TAEDA_API SoftplusImpl : public OptionModule<SoftplusImpl, SoftplusOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softplus);

struct GELUOptions {
  GELUOptions(std::string approximate = "none")
      : approximate_(std::move(approximate)) {}  // NOLINT: converts
  TAEDA_ARG(std::string, approximate);
};

class TAEDA_API GELUImpl : public OptionModule<GELUImpl, GELUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(GELU);

struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);
};

class TAEDA_API GLUImpl : public OptionModule<GLUImpl, GLUOptions> {
 public:
  using OptionModule::OptionModule;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(GLU);

struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);
};

class TAEDA_API SoftmaxImpl : public OptionModule<SoftmaxImpl, SoftmaxOptions> {
 public:
  explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options) : OptionModule(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softmax);

struct SoftminOptions {
  SoftminOptions(int64_t dim) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);
};

class TAEDA_API SoftminImpl : public OptionModule<SoftminImpl, SoftminOptions> {
 public:
  explicit SoftminImpl(int64_t dim) : SoftminImpl(SoftminOptions(dim)) {}
  explicit SoftminImpl(const SoftminOptions& options) : OptionModule(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(Softmin);

struct LogSoftmaxOptions {
  LogSoftmaxOptions(int64_t dim) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);
};

class TAEDA_API LogSoftmaxImpl : public OptionModule<LogSoftmaxImpl, LogSoftmaxOptions> {
 public:
  explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options) : OptionModule(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TAEDA_MODULE(LogSoftmax);

struct PReLUOptions {
  TAEDA_ARG(int64_t, num_parameters) = 1;
  TAEDA_ARG(double, init) = 0.25;
};

class TAEDA_API PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  PReLUOptions options;
  Tensor weight;
};
TAEDA_MODULE(PReLU);

}  // namespace taeda::nn
