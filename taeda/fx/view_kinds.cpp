// Views of a traced program as autograd knows them.
#include "taeda/fx/view_kinds.h"

#include <algorithm>

#include "taeda/autograd/custom_function.h"
#include "taeda/autograd/variable.h"

namespace taeda::fx {
namespace {

bool has_hook(const autograd::Node& node, uint32_t output) {
  const autograd::NodeHooks* hooks = node.hooks();
  return hooks &&
         std::ranges::any_of(hooks->tensor, [&](const auto& hook) { return hook.input == output; });
}

}  // namespace

bool has_gradient(const Tensor& t) {
  if (!autograd::requires_grad(t)) return false;
  const bool is_plain = t.impl()->view_origin() == ViewOrigin::Default;
  return t.impl()->requires_grad_flag() ||
         (is_plain ? autograd::grad_fn(t) != nullptr : autograd::has_node(t));
}

bool is_unrecorded(const Tensor& t) {
  return t.impl()->view_base() && autograd::requires_grad(t) && !has_gradient(t);
}

namespace {

// Where the gradient of a view goes that has a node.
enum class Way : uint8_t { ToBase, ThroughProgram, ToNothing };

Way way_of_gradient(const Tensor& view) {
  const TensorImpl* base = view.impl()->view_base();
  const autograd::AutogradMetaImpl* of_base = autograd::meta_or_null(base);
  const IntrusivePtr<autograd::Node> leaf = autograd::try_grad_accumulator(
      Tensor(IntrusivePtr<TensorImpl>::share(const_cast<TensorImpl*>(base))));
  const autograd::Node* const end =
      of_base && of_base->grad_fn ? of_base->grad_fn.get() : leaf.get();
  const autograd::AutogradMetaImpl& meta = *autograd::meta_or_null(view.impl());
  const autograd::Node* node = meta.grad_fn.get();
  uint32_t output = meta.output_nr;
  // Nodes of views have one edge.
  while (node && node != end) {
    if (dynamic_cast<const autograd::CustomNode*>(node) || has_hook(*node, output))
      return Way::ThroughProgram;
    if (node->next_edges().empty()) return Way::ToNothing;
    output = node->next_edges()[0].input_nr;
    node = node->next_edges()[0].function.get();
  }
  return node ? Way::ToBase : Way::ToNothing;
}

bool has_way(const Tensor& t) {
  if (!t.impl()->view_base() || !has_gradient(t)) return false;
  // After a write it has a node of another history.
  const bool is_renewed = t.impl()->view_origin() == ViewOrigin::Default;
  return is_renewed ? autograd::grad_fn(t) != nullptr : autograd::has_node(t);
}

}  // namespace

bool is_cut(const Tensor& t) { return has_way(t) && way_of_gradient(t) == Way::ToNothing; }

bool has_own_gradient(const Tensor& t) {
  return t.impl()->view_origin() == ViewOrigin::CustomFunction ||
         (has_way(t) && way_of_gradient(t) == Way::ThroughProgram);
}

bool is_older_than_writes(const Tensor& t) {
  const TensorImpl* impl = t.impl();
  if (!impl->view_base() || !impl->has_version_counter()) return false;
  const autograd::AutogradMetaImpl* meta = autograd::meta_or_null(impl);
  return (meta ? meta->view_version : 0) != impl->version();
}

bool count_writes_together(const Tensor& a, const Tensor& b) {
  return a.impl()->has_version_counter() && b.impl()->has_version_counter() &&
         &a.impl()->version_counter() == &b.impl()->version_counter();
}

}  // namespace taeda::fx
