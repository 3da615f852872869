// Where a backward run starts: the edges of its roots and their gradients.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

struct Root {
  Edge edge;
  Tensor grad;
};

// Checks root number `index` and its gradient as PyTorch does; an undefined gradient becomes one.
Root make_root(const Tensor& root, Tensor grad, size_t index);

}  // namespace taeda::autograd
