// Running hooks of nodes.
#include "taeda/autograd/run_hooks.h"

#include <algorithm>

#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

namespace {

// Lists are copied before they run: a hook may remove itself, another thread may add one.
template <class Takes>
void run_hooks_on(NodeHooks& hooks, Takes&& takes, const auto& grad_of) {
  const auto on_tensor = hooks.copy_of(hooks.tensor);
  for (const NodeHooks::OnTensor& hook : on_tensor) {
    if (!takes(hook.input)) continue;
    if (Tensor changed = hook.call(grad_of(hook.input)); changed.defined())
      grad_of(hook.input) = std::move(changed);
  }
  const auto retain = hooks.copy_of(hooks.retain);
  for (const NodeHooks::Retain& r : retain) {
    const Tensor owner(r.tensor.lock());
    if (!owner.defined() || !takes(r.input) || !grad_of(r.input).defined()) continue;
    Tensor& kept = meta_of(owner).grad;
    kept = kept.defined() ? add(kept, grad_of(r.input)) : grad_of(r.input).clone();
  }
}

}  // namespace

void run_tensor_hooks(NodeHooks& hooks, Grads& grads, Span<uint32_t> without) {
  const auto takes = [&](uint32_t input) {
    return input < grads.size() &&
           std::find(without.begin(), without.end(), input) == without.end();
  };
  run_hooks_on(hooks, takes, [&](uint32_t input) -> Tensor& { return grads[input]; });
}

Tensor run_hooks_of_tensor(NodeHooks& hooks, uint32_t input, Tensor grad) {
  run_hooks_on(
      hooks, [&](uint32_t i) { return i == input; }, [&](uint32_t) -> Tensor& { return grad; });
  return grad;
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
