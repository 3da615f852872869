// AccumulateGrad: the end of the graph at a leaf; adds the arriving gradient to the leaf's.
#pragma once

#include <mutex>

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// Owns its variable, which points back weakly: the node lives as long as a graph leads to it. Runs
// as soon as it is ready, so gradients are handed over and hooks fire early.
class TAEDA_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);

  const char* name() const override { return "torch::autograd::AccumulateGrad"; }
  // Takes the gradient over if nobody else sees it and its layout fits the variable's.
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;
  // Hooks run behind every visit, also where no gradient came or none is wanted any more.
  bool wants_undefined() const override { return true; }
  const Tensor& variable() const { return variable_; }

 private:
  void accumulate(const Tensor& incoming);
  void release_resources() override;

  Tensor variable_;
  std::mutex mutex_;  // several threads may reach one leaf
};

}  // namespace taeda::autograd
