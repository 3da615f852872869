// Stochastic gradient descent with momentum.
#pragma once

#include "taeda/optim/optimizer.h"

namespace taeda::optim {

class TAEDA_API SGDOptions : public OptionsOf<SGDOptions> {
 public:
  SGDOptions(double lr = 1e-3) : OptionsOf(lr) {}  // NOLINT: converts
  void check() const override;
  TAEDA_ARG(double, momentum) = 0;
  TAEDA_ARG(double, dampening) = 0;
  TAEDA_ARG(double, weight_decay) = 0;
  TAEDA_ARG(bool, nesterov) = false;
};

struct SGDState {
  Tensor momentum_buffer;
};

class TAEDA_API SGD : public OptimizerWith<SGDOptions, SGDState> {
 public:
  using OptimizerWith::OptimizerWith;

 protected:
  void update(Tensor& parameter, const Tensor& grad, const SGDOptions& options,
              SGDState& state) override;
};

}  // namespace taeda::optim
