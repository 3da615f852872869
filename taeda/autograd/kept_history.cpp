// What in-place writes change of a history, put back.
#include "taeda/autograd/kept_history.h"

#include <utility>

#include "taeda/autograd/view_history.h"

namespace taeda::autograd {

KeptHistory::KeptHistory(const Tensor& t)
    : tensor_(t), has_requires_grad_(t.impl()->requires_grad_flag()) {
  AutogradMetaImpl* meta = meta_or_null(t.impl());
  if (!meta) return;
  const std::lock_guard lock(meta->mutex);
  node_ = meta->grad_fn;
  output_nr_ = meta->output_nr;
  view_version_ = meta->view_version;
}

KeptHistory::~KeptHistory() { release_node(std::move(node_)); }

void KeptHistory::put_back() const {
  TensorImpl* impl = tensor_.impl();
  AutogradMetaImpl* meta = meta_or_null(impl);
  if (!meta) return;
  if (meta->grad_fn != node_) {
    if (node_) {
      assign_node(impl, node_, output_nr_);
    } else {
      release_node(std::move(meta->grad_fn));
    }
  }
  meta->output_nr = output_nr_;
  meta->view_version = view_version_;
  impl->set_requires_grad_flag(has_requires_grad_);
}

}  // namespace taeda::autograd
