// CopySlices: the base's history after an in-place operation on one of its views.
//
//   base.as_strided(...).mul_(w)   base.grad_fn = CopySlices { MulBackward0 }
//
// The gradient of the base outside the view passes through; inside, it goes through the operation's
// node.
#pragma once

#include "taeda/autograd/view_history.h"

namespace taeda::autograd {

class CopySlices final : public Node {
 public:
  // Before the base's history is replaced: edge `self_edge`, the view's in the operation's node, is
  // the base's old gradient edge here.
  CopySlices(const Tensor& base, ViewGeometry view, IntrusivePtr<Node> operation, size_t self_edge);
  ~CopySlices() override;

  const char* name() const override { return "torch::autograd::CopySlices"; }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;
  void release_saved() override;

 private:
  void release_resources() override;

  SymIntVec base_sizes_, base_strides_;
  ViewGeometry view_;
  IntrusivePtr<Node> operation_;
  size_t self_edge_;
};

}  // namespace taeda::autograd
