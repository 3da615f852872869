// Backward of an in-place operation on a view.
#include "taeda/autograd/copy_slices.h"

#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

CopySlices::CopySlices(const Tensor& base, ViewGeometry view, IntrusivePtr<Node> operation)
    : base_sizes_(base.sym_sizes()),
      base_strides_(base.sym_strides()),
      view_(std::move(view)),
      operation_(std::move(operation)) {
  const Span<Edge> inner = operation_->next_edges();
  EdgeList edges(inner);
  TAEDA_INTERNAL_CHECK(!edges.empty(), "in-place node ", operation_->name(),
                       " has no edge for self");
  edges[0] = gradient_edge(base);
  set_next_edges(std::move(edges));
}

CopySlices::~CopySlices() { release_node(std::move(operation_)); }

void CopySlices::release_resources() {
  Node::release_resources();
  release_node(std::move(operation_));
}

void CopySlices::release_saved() { operation_->release_saved(); }

void CopySlices::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  const Tensor& grad = grads[0];
  if (!grad.defined()) return;
  Tensor result = grad.new_empty_strided(SymIntList(base_sizes_), SymIntList(base_strides_));
  result.copy_(grad);
  Tensor slice = view_.of(result);

  std::vector<Tensor> inner(operation_->num_edges());
  {
    // The operation's own edge 0 leads to the view's old history, which this run does not visit.
    const ExecFilterScope all(nullptr);
    const Tensor slice_grad = slice.clone();
    operation_->apply({&slice_grad, 1}, inner);
  }
  if (needs_input(0)) {
    if (inner[0].defined())
      slice.copy_(inner[0]);
    else
      slice.zero_();
    grad_inputs[0] = std::move(result);
  }
  for (size_t i = 1; i < inner.size(); ++i)
    if (needs_input(i)) grad_inputs[i] = std::move(inner[i]);
}

}  // namespace taeda::autograd
