// What generated autograd code uses beside nodes, variables and formulas.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// Gradients of a list argument, from position `at` on.
inline void put_list(std::vector<Tensor>& grad_inputs, size_t at, std::vector<Tensor> grads) {
  for (size_t i = 0; i < grads.size(); ++i) grad_inputs[at + i] = std::move(grads[i]);
}

}  // namespace taeda::autograd
