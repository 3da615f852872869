// A tensor's place in the backward graph: gradient, history, leaves, views and hooks.
//
// Note [Histories]: a tensor's requires_grad flag is set on leaves that ask for a gradient and on
// every tensor with a node, so one bit answers "record?". A differentiable view also asks its base,
// which may start to require gradients after the view was made.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/node.h"
#include "taeda/base/object_cache.h"

namespace taeda::autograd {

struct ViewGeometry;

struct TAEDA_API AutogradMetaImpl final : AutogradMeta {
  AutogradMetaImpl();
  ~AutogradMetaImpl() override;
  static void* operator new(size_t nbytes) { return allocate_object(nbytes); }
  static void operator delete(void* meta, size_t nbytes) { deallocate_object(meta, nbytes); }

  Tensor grad;
  Tensor tangent;  // forward mode, see forward.h
  IntrusivePtr<Node> grad_fn;
  uint32_t output_nr = 0;
  // Views: the version grad_fn belongs to; another one means the base's history changed. A view
  // without these fields was made at version 0.
  uint32_t view_version = 0;
  bool ends_in_strides = false;                  // views: see ViewGeometry::ends_in_strides
  std::unique_ptr<ViewGeometry> first_geometry;  // views: see view_geometry
  WeakPtr<Node> grad_accumulator;                // weak: the accumulator owns the tensor
  std::shared_ptr<NodeHooks> hooks;              // of a leaf, shared with its accumulator
  std::string name;
  std::optional<DType> grad_dtype;  // of a leaf that has_grad_dtype; none: any
  bool has_grad_dtype = false;
  bool retains_grad = false;
  std::mutex mutex;  // guards grad_fn of views and grad_accumulator
};

inline AutogradMetaImpl* meta_or_null(const TensorImpl* t) {
  return static_cast<AutogradMetaImpl*>(t->autograd_meta());
}
// Made at the first call; not safe against another first call on the same tensor.
TAEDA_API AutogradMetaImpl& meta_of(TensorImpl* t);
inline AutogradMetaImpl& meta_of(const Tensor& t) { return meta_of(t.impl()); }

constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }
inline bool is_differentiable(const Tensor& t) {
  return t.defined() && is_differentiable(t.dtype());
}

// ---- asking ----
inline bool requires_grad(const Tensor& t) {
  if (!t.defined()) return false;
  const TensorImpl* impl = t.impl();
  if (impl->requires_grad_flag()) return true;
  const TensorImpl* base = impl->view_base();
  return base && base->requires_grad_flag() && is_differentiable(impl->dtype());
}
inline bool requires_grad(TensorList list) {
  for (const Tensor& t : list)
    if (requires_grad(t)) return true;
  return false;
}
// The node that made this tensor, null for leaves. A view whose base was written to since gets a
// fresh history here, through as_strided of the base; throws PyTorch's error where that is
// forbidden.
TAEDA_API IntrusivePtr<Node> grad_fn(const Tensor& t);
inline bool is_leaf(const Tensor& t) { return !grad_fn(t); }
// Whether a node made this tensor, as noted last: does not follow writes to a view's base.
inline bool has_node(const Tensor& t) {
  const AutogradMetaImpl* meta = t.defined() ? meta_or_null(t.impl()) : nullptr;
  return meta && meta->grad_fn;
}
TAEDA_API uint32_t output_nr(const Tensor& t);
// Where gradients of this tensor go: its node, else its accumulator, else nowhere.
TAEDA_API Edge gradient_edge(const Tensor& t);
// The accumulator of a leaf that requires grad, made at the first call.
TAEDA_API IntrusivePtr<Node> grad_accumulator(const Tensor& t);
// The accumulator if one is alive.
TAEDA_API IntrusivePtr<Node> try_grad_accumulator(const Tensor& t);
TAEDA_API const Tensor& grad(const Tensor& t);
TAEDA_API bool retains_grad(const Tensor& t);
// The dtype that the gradient of a leaf is brought to: the tensor's own unless set; none: any.
TAEDA_API std::optional<DType> grad_dtype(const Tensor& t);

// ---- changing ----
TAEDA_API void set_requires_grad(const Tensor& t, bool value);
// Checks size, dtype and device as PyTorch does; undefined clears.
TAEDA_API void set_grad(const Tensor& t, Tensor grad);
TAEDA_API void set_grad_dtype(const Tensor& t, std::optional<DType> dtype);
TAEDA_API void retain_grad(const Tensor& t);
// x.data = source: the tensor takes the other's values and keeps history, gradient and version.
TAEDA_API void set_data(const Tensor& t, const Tensor& source);
// The same values without history: shares storage and version counter, no view.
TAEDA_API Tensor detached(const Tensor& t);
// detach_(): cuts the tensor itself off.
TAEDA_API void detach_inplace(const Tensor& t);

// Hooks on the gradient of a tensor; the id goes to remove_hook.
TAEDA_API uint64_t register_hook(const Tensor& t, TensorHook hook);
TAEDA_API uint64_t register_post_accumulate_hook(const Tensor& t, PostAccumulateHook hook);
TAEDA_API bool remove_hook(const Tensor& t, uint64_t id);

// ---- for generated code ----
inline bool is_all_inference(const Tensor& t) { return !t.defined() || t.is_inference(); }
inline bool is_all_inference(TensorList list) {
  for (const Tensor& t : list)
    if (!is_all_inference(t)) return false;
  return true;
}

// Whether to record: grad mode is on, any argument requires grad, and not all are inference tensors
// (one that was given inference data may require grad and is recorded beside others only).
template <class... T>
bool should_record(const T&... args) {
  return grad_enabled() && (requires_grad(args) || ...) && !(is_all_inference(args) && ...);
}

// One edge for each tensor, in order; lists expand to their length.
inline void append_edges(EdgeList& edges, const Tensor& t) {
  edges.push_back(requires_grad(t) ? gradient_edge(t) : Edge());
}
inline void append_edges(EdgeList& edges, TensorList list) {
  for (const Tensor& t : list) append_edges(edges, t);
}
template <class... T>
EdgeList collect_edges(const T&... args) {
  EdgeList edges;
  (append_edges(edges, args), ...);
  return edges;
}

// Makes `node` the history of its output number `output_nr`. Outputs that are undefined or whose
// dtype has no gradient get none.
TAEDA_API void set_history(const Tensor& output, IntrusivePtr<Node> node, uint32_t output_nr = 0);
TAEDA_API void set_history(const std::vector<Tensor>& outputs, const IntrusivePtr<Node>& node,
                           uint32_t first_output_nr = 0);
// The same after an in-place operation. A view's base gets the history; see copy_slices.h. Edge
// number `self_edge` of the node is self's.
TAEDA_API void rebase_history(const Tensor& self, IntrusivePtr<Node> node, uint32_t output_nr = 0,
                              size_t self_edge = 0);

// Call before an in-place operation; `any_requires_grad`: any argument, self included, requires
// grad.
TAEDA_API void check_inplace(const Tensor& self, bool any_requires_grad);

[[noreturn]] TAEDA_API void fail_out_requires_grad(const char* op);
// check_out_without_grad("add", self, other, out)
template <class... T>
void check_out_without_grad(const char* op, const T&... args) {
  if (__builtin_expect(should_record(args...), 0)) fail_out_requires_grad(op);
}

// Refuses an argument that asks for a gradient which nothing computes.
TAEDA_API void check_constant(const char* op, const char* argument, const Tensor& t);

// Ties views fresh from a kernel to their root base, and notes how they were made. The list is for
// operators that return several views, which must not be written to.
TAEDA_API void track_view(const Tensor& source, const Tensor& view);
TAEDA_API void track_view(const Tensor& source, const std::vector<Tensor>& views);

}  // namespace taeda::autograd
