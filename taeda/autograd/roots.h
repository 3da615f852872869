// Where a backward run starts: the edges of its roots and their gradients.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

struct Root {
  Edge edge;
  Tensor grad;
};

// Checks the gradient of root number `index` as PyTorch does; an undefined one becomes one, where
// the root requires grad. All seeds are made before the first root.
TAEDA_API Tensor make_seed(const Tensor& root, Tensor grad, size_t index);
TAEDA_API Root make_root(const Tensor& root, Tensor seed, size_t index);
// The same for the output that a node's input stands for.
TAEDA_API Tensor make_seed(const Edge& edge, Tensor grad, size_t index);
TAEDA_API Root make_root(Edge edge, Tensor seed, size_t index);
// Where the gradient of `input` is wanted; with `accumulate` a tensor with a node starts to keep
// it. A leaf that no graph reaches has no node.
TAEDA_API Edge input_edge(const Tensor& input, bool accumulate);

}  // namespace taeda::autograd
