#include "taeda/fx/input_history.h"

#include "taeda/autograd/node.h"
#include "taeda/autograd/variable.h"

namespace taeda::fx {

namespace {

// The history of an input that is no leaf: it passes gradients on.
class InputNode final : public autograd::Node {
 public:
  const char* name() const override { return "Input"; }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    grad_inputs[0] = grads[0];
  }
};

}  // namespace

void pass_gradients_to(const Tensor& t, const Tensor& leaf) {
  auto node = make_intrusive<InputNode>();
  node->set_next_edges({autograd::gradient_edge(leaf)});
  autograd::set_history(t, std::move(node));
}

void match_history(const Tensor& fake, const Tensor& like) {
  if (!autograd::requires_grad(like) || autograd::is_leaf(like) || !autograd::is_leaf(fake)) return;
  const Tensor leaf = autograd::detached(fake);
  autograd::set_requires_grad(leaf, true);
  fake.impl()->set_requires_grad_flag(false);
  pass_gradients_to(fake, leaf);
}

}  // namespace taeda::fx
