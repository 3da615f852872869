// Writing into leaves.
#include "taeda/autograd/accumulate_grad.h"

#include "taeda/autograd/accumulate.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

// A kept gradient is laid out as its variable if that is dense, contiguous otherwise.
bool has_layout_of(const Tensor& grad, const Tensor& variable) {
  if (!variable.impl()->is_non_overlapping_and_dense()) return grad.is_contiguous();
  const SymIntList sizes = grad.sym_sizes(), got = grad.sym_strides(),
                   wanted = variable.sym_strides();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > SymInt(1) && got[i] != wanted[i]) return false;
  return true;
}

Tensor copy_with_layout_of(const Tensor& grad, const Tensor& variable) {
  // The class of the tensor decides about its memory.
  if (grad.keys().has(Key::Python)) return grad.clone();
  if (!variable.impl()->is_non_overlapping_and_dense()) return grad.clone(MemoryFormat::Contiguous);
  Tensor out = grad.new_empty_strided(variable.sym_sizes(), variable.sym_strides());
  out.copy_(grad);
  return out;
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& variable) : Node(kRunsFirst), variable_(variable) {
  set_input_metadata(0, variable);
}

void AccumulateGrad::release_resources() {
  Node::release_resources();
  // The leaf refers to this memory weakly, and has to be the only owner of its hooks again.
  share_hooks(nullptr);
  variable_.reset();
}

void AccumulateGrad::apply(Span<Tensor> grads, std::vector<Tensor>&) {
  if (grads[0].defined() && requires_grad(variable_)) accumulate(grads[0]);
  if (!hooks()) return;
  const auto calls = hooks()->copy_of(hooks()->post_accumulate);  // a hook may remove itself
  for (const auto& [id, call] : calls) call(variable_);
}

void AccumulateGrad::accumulate(const Tensor& incoming) {
  const std::lock_guard lock(mutex_);
  Tensor& kept = meta_of(variable_).grad;
  if (kept.defined()) {
    if (grad_enabled())
      kept = add(kept, incoming);
    else
      kept.add_(incoming);
  } else if (!grad_enabled() && is_exclusive(incoming) && has_layout_of(incoming, variable_)) {
    // A tensor that Python has seen stays distinct from the gradient: it is detached by the
    // operator, which modes see.
    if (incoming.impl()->python_object())
      kept = incoming.detach();
    else
      kept = incoming.is_view() ? detached(incoming) : incoming;
  } else {
    kept = copy_with_layout_of(incoming, variable_);
  }
}

}  // namespace taeda::autograd
