// Histories of views: how a view follows in-place writes to its base, and its base writes to the
// view.
//
// Note [View histories]: a view is always as_strided of its root base, whatever made it. A view
// that saw its base's version change records as_strided anew; a write to a view makes a CopySlices
// node the base's history, after which all other views refresh themselves the same way.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// The geometry of a view of its base; the offset counts from the base's own, in the view's
// elements.
struct ViewGeometry {
  SymIntVec sizes, strides;
  SymInt offset;
  DType dtype;
  bool is_conj, is_neg;
  // Whether conjugation and sign are taken before the strides: the view was made of a view that
  // already differs from the base in them.
  bool ends_in_strides;

  explicit ViewGeometry(const Tensor& view);
  // The same view of another tensor that is laid out like the base; differentiable.
  Tensor of(const Tensor& base) const;
};

// The geometry of a view. A view of another kind than its base (conjugate, negative, real) keeps
// the geometry it was made with when `.data` gives it other memory; for other views it is read from
// the tensor now.
ViewGeometry view_geometry(const Tensor& view);
// To be called before a view gets other memory.
void keep_geometry(const Tensor& view);

// Sets a tensor's node and flag, nothing else; the retain_grad hook moves along.
void assign_node(TensorImpl* t, IntrusivePtr<Node> node, uint32_t output_nr);

IntrusivePtr<Node> view_grad_fn(const Tensor& view);
// `node` is the in-place operation's, with one input; its edge number `self_edge` is self's.
void rebase_view_history(const Tensor& self, IntrusivePtr<Node> node, size_t self_edge);
// Throws for views that must not be written to (`is_direct`) or whose base must not have been.
void check_view_writable(const Tensor& view, bool is_direct);

}  // namespace taeda::autograd
