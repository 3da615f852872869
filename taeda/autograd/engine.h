// The engine: runs the backward graph from roots to leaves.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// Differentiates `roots`, weighted by `grads` (empty or undefined: one, for roots with one
// element).
//
// Without `inputs`, gradients are added to the leaves' grad. With `inputs` only what they need
// runs; with `accumulate` their gradients are added to their grad, otherwise they are returned, one
// for each input, undefined for those the roots do not depend on, which is an error unless
// `allow_unused`. `keep_graph` leaves saved tensors alive for another run; `create_graph` records
// the run itself.
//
// Runs on the caller's thread; threads may run at once, on shared graphs if they keep them. A node
// or hook may call run_backward. After an exception the graph is as if the nodes that ran had been
// released.
TAEDA_API std::vector<Tensor> run_backward(Span<Tensor> roots, Span<Tensor> grads, bool keep_graph,
                                           bool create_graph, Span<Tensor> inputs = {},
                                           bool allow_unused = false, bool accumulate = true);

}  // namespace taeda::autograd
