// Which inputs the histories of tensors lead to.
#pragma once

#include <vector>

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// By root, which requires a gradient: whether its history leads to each input. Visits every node
// behind the roots once; runs none. A node is taken to pass each gradient on to all of its edges.
TAEDA_API std::vector<std::vector<bool>> reached_inputs(Span<Tensor> roots, Span<Tensor> inputs);

}  // namespace taeda::autograd
