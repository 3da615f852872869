// Linear layers and changes of shape.
#pragma once

#include "taeda/nn/arg.h"
#include "taeda/nn/module_holder.h"

namespace taeda::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TAEDA_ARG(int64_t, in_features);
  TAEDA_ARG(int64_t, out_features);
  TAEDA_ARG(bool, bias) = true;
};

// input @ weight.T + bias
class TAEDA_API LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LinearOptions options;
  Tensor weight;
  Tensor bias;
};
TAEDA_MODULE(Linear);

class TAEDA_API IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return input; }
};
TAEDA_MODULE(Identity);

struct FlattenOptions {
  TAEDA_ARG(int64_t, start_dim) = 1;
  TAEDA_ARG(int64_t, end_dim) = -1;
};

class TAEDA_API FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  FlattenOptions options;
};
TAEDA_MODULE(Flatten);

}  // namespace taeda::nn
