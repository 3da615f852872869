// The members of Tensor that are autograd's.
#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"

namespace taeda {

bool Tensor::requires_grad() const { return autograd::requires_grad(*this); }

const Tensor& Tensor::set_requires_grad(bool value) const {
  autograd::set_requires_grad(*this, value);
  return *this;
}

bool Tensor::is_leaf() const { return autograd::is_leaf(*this); }

Tensor Tensor::grad() const { return autograd::grad(*this); }

void Tensor::backward(const Tensor& gradient, bool retain_graph) const {
  autograd::run_backward({*this}, {gradient}, retain_graph, /*create_graph=*/false);
}

}  // namespace taeda
