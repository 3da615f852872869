// Backward of an in-place operation on a view.
#include "taeda/autograd/copy_slices.h"

#include "taeda/autograd/saved.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

CopySlices::CopySlices(const Tensor& base, ViewGeometry view, IntrusivePtr<Node> operation,
                       size_t self_edge)
    : base_sizes_(base.sym_sizes()),
      base_strides_(base.sym_strides()),
      view_(std::move(view)),
      operation_(std::move(operation)),
      self_edge_(self_edge) {
  const Span<Edge> inner = operation_->next_edges();
  EdgeList edges(inner);
  TAEDA_INTERNAL_CHECK(self_edge < edges.size(), "in-place node ", operation_->name(),
                       " has no edge for self");
  edges[self_edge] = gradient_edge(base);
  set_next_edges(std::move(edges));
}

CopySlices::~CopySlices() { release_node(std::move(operation_)); }

void CopySlices::release_resources() {
  Node::release_resources();
  release_node(std::move(operation_));
}

void CopySlices::release_saved() { release_node(std::move(operation_)); }

void CopySlices::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  const Tensor& grad = grads[0];
  if (!grad.defined()) return;
  if (!operation_) fail_freed();
  Tensor result = grad.new_empty_strided(SymIntList(base_sizes_), SymIntList(base_strides_));
  result.copy_(grad);
  Tensor slice = view_.of(result);

  std::vector<Tensor> inner(operation_->num_edges());
  {
    // The operation's own edge of self leads to the view's old history, which this run does not
    // visit.
    const ExecFilterScope all(nullptr);
    const Tensor slice_grad = slice.clone();
    operation_->apply({&slice_grad, 1}, inner);
  }
  for (size_t i = 0; i < inner.size(); ++i)
    if (i != self_edge_ && needs_input(i)) grad_inputs[i] = std::move(inner[i]);
  if (!needs_input(self_edge_)) return;
  if (inner[self_edge_].defined())
    slice.copy_(inner[self_edge_]);
  else
    slice.zero_();
  grad_inputs[self_edge_] = std::move(result);
}

}  // namespace taeda::autograd
