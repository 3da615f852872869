// Running hooks of nodes.
#include "taeda/autograd/run_hooks.h"

#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

// Lists are copied before they run: a hook may remove itself, another thread may add one.
void run_tensor_hooks(NodeHooks& hooks, Grads& grads) {
  const auto on_tensor = hooks.copy_of(hooks.tensor);
  for (const NodeHooks::OnTensor& hook : on_tensor) {
    if (hook.input >= grads.size()) continue;
    if (Tensor changed = hook.call(grads[hook.input]); changed.defined())
      grads[hook.input] = std::move(changed);
  }
  const auto retain = hooks.copy_of(hooks.retain);
  for (const NodeHooks::Retain& r : retain) {
    const Tensor owner(r.tensor.lock());
    if (!owner.defined() || r.input >= grads.size() || !grads[r.input].defined()) continue;
    Tensor& kept = meta_of(owner).grad;
    kept = kept.defined() ? add(kept, grads[r.input]) : grads[r.input].clone();
  }
}

void run_pre_hooks(NodeHooks& hooks, Grads& grads) {
  const auto calls = hooks.copy_of(hooks.pre);
  if (calls.empty()) return;
  std::vector<Tensor> list(grads.begin(), grads.end());
  grads.clear();
  for (const auto& [id, call] : calls) call(list);
  grads.assign(list.begin(), list.end());
}

void run_post_hooks(NodeHooks& hooks, std::vector<Tensor>& grad_inputs, const Grads& grads) {
  const auto calls = hooks.copy_of(hooks.post);
  for (const auto& [id, call] : calls) call(grad_inputs, {grads.data(), grads.size()});
}

}  // namespace taeda::autograd
