// The engine: runs the backward graph from roots to leaves.
#pragma once

#include "taeda/autograd/roots.h"

namespace taeda::autograd {

// Differentiates `roots`, weighted by `grads` (empty or undefined: one, for roots with one
// element).
//
// Without `inputs`, gradients are added to the leaves' grad. With `inputs` only what they need
// runs; with `accumulate` their gradients are added to their grad, otherwise they are returned, one
// for each input, undefined for those the roots do not depend on, which is an error unless
// `allow_unused`. `keep_graph` leaves saved tensors alive for another run; `create_graph` records
// the run itself. `arrivals` gets the numbers of the returned gradients in the order in which they
// were complete.
//
// Runs on the caller's thread; threads may run at once, on shared graphs if they keep them. A node
// or hook may call run_backward. After an exception the graph is as if the nodes that ran had been
// released.
TAEDA_API std::vector<Tensor> run_backward(Span<Tensor> roots, Span<Tensor> grads, bool keep_graph,
                                           bool create_graph, Span<Tensor> inputs = {},
                                           bool allow_unused = false, bool accumulate = true,
                                           std::vector<size_t>* arrivals = nullptr);

struct RunOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
  bool accumulate = true;
  std::vector<size_t>* arrivals = nullptr;
};
// The same over edges of the graph: where gradients start, and where they are wanted.
TAEDA_API std::vector<Tensor> run_backward(SmallVector<Root, 2> roots, Span<Edge> inputs,
                                           const RunOptions& options);

// ---- for nodes and hooks while a run is going on ----
// The node that runs on this thread, null outside.
TAEDA_API Node* current_node();
// A number of the innermost run on this thread, -1 outside; tells runs apart.
TAEDA_API int64_t current_run_id();
TAEDA_API bool does_current_run_keep_graph();
// Whether the innermost run goes to all leaves, not only to given inputs.
TAEDA_API bool is_current_run_complete();
// Whether the innermost run executes `node`, or has.
TAEDA_API bool will_run(const Node& node);
// The nodes that the innermost run will execute from the one that runs on, in their order, as far
// as nothing changes the graph meanwhile.
TAEDA_API std::vector<IntrusivePtr<Node>> remaining_order();
// Drops the engine's own references to the gradients that `node` was given, if that is the node
// which runs. The node has taken what it needs of them, and its post hooks will see none.
TAEDA_API void drop_gradients_of(const Node& node);
// Runs `callback` when the innermost run is through with its nodes.
TAEDA_API void queue_callback(std::function<void()> callback);

}  // namespace taeda::autograd
