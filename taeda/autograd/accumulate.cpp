// Adding gradients in place where no other holder of the tensor can notice.
#include "taeda/autograd/accumulate.h"

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

namespace {

// If the tensor owns its Python object, no Python code refers to that object any longer.
bool is_held_by_python(const TensorImpl& impl) {
  return impl.python_object() && !impl.owns_python_object();
}

}  // namespace

bool is_exclusive(const Tensor& t) {
  const TensorImpl* impl = t.impl();
  const TensorExtra* extra = impl->extra_or_null();
  // A base that only this view keeps alive is one more holder of the storage, but no observer.
  const TensorImpl* base = impl->view_base();
  const uint32_t holders = base && base->use_count() == 1 && !is_held_by_python(*base) ? 2 : 1;
  return impl->use_count() == 1 && !is_held_by_python(*impl) && !impl->keys().has(Key::Python) &&
         impl->storage()->use_count() == holders &&
         !(extra && (extra->wrapper || extra->backend_meta)) && !impl->has_symbolic_sizes() &&
         !impl->requires_grad_flag() && !impl->is_conj() && !impl->is_neg() &&
         !impl->is_inference() && impl->is_non_overlapping_and_dense();
}

void accumulate_into(Tensor& slot, Tensor grad) {
  if (!grad.defined()) return;
  // A mode could notice: its handler may keep the tensors, and a trace would record the write.
  const bool is_unseen = !grad_enabled() && dispatch::modes().empty();
  if (!slot.defined()) {
    slot = std::move(grad);
  } else if (is_unseen && is_exclusive(slot)) {
    slot.add_(grad);
  } else if (is_unseen && is_exclusive(grad)) {
    const BelowADInplaceOrView unseen;  // a new value: no write to count
    grad.add_(slot);
    slot = std::move(grad);
  } else {
    slot = add(slot, grad);
  }
}

}  // namespace taeda::autograd
