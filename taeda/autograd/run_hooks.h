// Calls of the hooks on a node, in the order the engine needs them.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// The gradients that arrived at a node, one for each of its inputs.
using Grads = SmallVector<Tensor, 2>;

// Hooks on the tensors the node made but these, then the gradients some of them keep.
void run_tensor_hooks(NodeHooks& hooks, Grads& grads, Span<uint32_t> without = {});
// The same for one of them: its gradient behind the hooks.
Tensor run_hooks_of_tensor(NodeHooks& hooks, uint32_t input, Tensor grad);
void run_pre_hooks(NodeHooks& hooks, Grads& grads);
void run_post_hooks(NodeHooks& hooks, std::vector<Tensor>& grad_inputs, const Grads& grads);

}  // namespace taeda::autograd
