// Following in-place writes through views.
#include "taeda/autograd/view_history.h"

#include "taeda/autograd/copy_slices.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

Tensor base_of(const Tensor& view) {
  return Tensor(IntrusivePtr<TensorImpl>::share(view.impl()->view_base()));
}

const char* explain(ViewOrigin origin) {
  switch (origin) {
    case ViewOrigin::MultiOutput:
      return " This view is the output of a function that returns multiple views. Such functions "
             "do not allow the "
             "output views to be modified inplace. You should replace the inplace operation by an "
             "out-of-place one.";
    case ViewOrigin::InNoGrad:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
             "clarify your code by "
             "moving both the view and the inplace either both inside the no_grad block (if you "
             "don't want the "
             "inplace to be tracked) or both outside (if you want the inplace to be tracked).";
    case ViewOrigin::InInference:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
             "clarify your code by "
             "moving both the view and the inplace either both inside the inference_mode block (if "
             "you don't want the "
             "inplace to be tracked) or both outside (if you want the inplace to be tracked).";
    default:
      return " This view was created inside a custom Function (or because an input was returned "
             "as-is) and the "
             "autograd logic to handle view+inplace would override the custom backward associated "
             "with the custom "
             "Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
             "this by cloning the "
             "output of the custom Function.";
  }
}

// Lets a chain of view nodes that leads to `leaf` lead to `edge`.
void relink(const Node* leaf, Node* node, Edge edge) {
  while (const Node* next = node->next_edges()[0].function.get()) {
    if (next == leaf) {
      EdgeList edges(1);
      edges[0] = std::move(edge);
      return node->set_next_edges(std::move(edges));
    }
    node = node->next_edges()[0].function.get();
  }
}

// Whether the view's memory is another than its base's, which .data can do to plain tensors.
bool is_elsewhere(const Tensor& view, const Tensor& base) {
  const TensorExtra* extra = base.impl()->extra_or_null();
  return view.storage() != base.storage() && !(extra && extra->wrapper);
}

// A leaf with the geometry of `base` for `view` to be recorded on; without memory where the view
// has other memory, in which as_strided finds room.
Tensor stand_in(const Tensor& base, const Tensor& view) {
  Tensor out = detached(base);
  if (is_elsewhere(view, base)) {
    const size_t room = view.storage()->nbytes() + base.storage()->nbytes();
    out.impl()->set_storage(
        make_intrusive<StorageImpl>(nullptr, room, base.device(), nullptr, nullptr));
  }
  out.impl()->set_requires_grad_flag(true);
  return out;
}

bool has_signs_of(const TensorImpl* a, const TensorImpl* b) {
  return a->is_conj() == b->is_conj() && a->is_neg() == b->is_neg();
}

// Records as_strided of the base as the view's history; the caller holds the view's mutex. A base
// that needs no gradient any more gets none through it.
IntrusivePtr<Node> refresh(const Tensor& view) {
  const EnableGrad recording;
  const Tensor base = base_of(view);
  const bool is_direct = requires_grad(base) && !is_elsewhere(view, base);
  const Tensor recorded = is_direct ? base : stand_in(base, view);
  const Tensor fresh = view_geometry(view).of(recorded);
  const AutogradMetaImpl* made = meta_or_null(fresh.impl());
  TAEDA_INTERNAL_CHECK(made && made->grad_fn, "as_strided recorded no node");
  if (!is_direct)
    relink(grad_accumulator(recorded).get(), made->grad_fn.get(),
           requires_grad(base) ? gradient_edge(base) : Edge());
  assign_node(view.impl(), made->grad_fn, made->output_nr);
  return made->grad_fn;
}

}  // namespace

ViewGeometry::ViewGeometry(const Tensor& view)
    : sizes(view.sym_sizes()),
      strides(view.sym_strides()),
      dtype(view.dtype()),
      is_conj(view.is_conj()),
      is_neg(view.is_neg()) {
  const AutogradMetaImpl* meta = meta_or_null(view.impl());
  ends_in_strides = meta && meta->ends_in_strides;
  const TensorImpl* base = view.impl()->view_base();
  const SymInt base_bytes = base->sym_storage_offset() * SymInt(item_size(base->dtype()));
  offset = view.impl()->sym_storage_offset() - base_bytes / SymInt(item_size(dtype));
}

Tensor ViewGeometry::of(const Tensor& base) const {
  Tensor t = base;
  if (t.is_complex() && !is_complex(dtype)) {
    t = view_as_real(t.is_conj() ? t.conj() : t);
  } else if (!t.is_complex() && is_complex(dtype)) {
    t = view_as_complex(t);
  }
  const auto take_signs = [&] {
    if (t.is_conj() != is_conj) t = t.conj();
    if (t.is_neg() != is_neg) t = t._neg_view();
  };
  if (ends_in_strides) take_signs();
  const SymInt start = t.impl()->sym_storage_offset() + offset;
  t = t.as_strided(SymIntList(sizes), SymIntList(strides), start);
  take_signs();
  return t;
}

ViewGeometry view_geometry(const Tensor& view) {
  const AutogradMetaImpl* meta = meta_or_null(view.impl());
  return meta && meta->first_geometry ? *meta->first_geometry : ViewGeometry(view);
}

void keep_geometry(const Tensor& view) {
  const TensorImpl* base = view.impl()->view_base();
  if (has_signs_of(view.impl(), base) && view.dtype() == base->dtype()) return;
  AutogradMetaImpl& meta = meta_of(view);
  if (!meta.first_geometry) meta.first_geometry = std::make_unique<ViewGeometry>(view);
}

IntrusivePtr<Node> view_grad_fn(const Tensor& view) {
  TensorImpl* impl = view.impl();
  if (!is_differentiable(impl->dtype())) return nullptr;
  const bool has_graph = impl->view_base()->requires_grad_flag() || impl->requires_grad_flag();
  AutogradMetaImpl* meta = meta_or_null(impl);
  if (!has_graph || (!meta && impl->version() == 0)) return nullptr;
  meta = &meta_of(impl);
  const std::lock_guard lock(meta->mutex);
  const bool is_plain_leaf = !meta->grad_fn && !impl->view_base()->requires_grad_flag();
  if (is_plain_leaf || meta->view_version == impl->version()) return meta->grad_fn;
  check_view_writable(view, /*is_direct=*/false);
  return refresh(view);
}

void rebase_view_history(const Tensor& self, IntrusivePtr<Node> node, size_t self_edge) {
  node->set_input_metadata(0, self);
  const Tensor base = base_of(self);
  auto slices = make_intrusive<CopySlices>(base, view_geometry(self), std::move(node), self_edge);
  slices->set_input_metadata(0, base);
  assign_node(base.impl(), std::move(slices), 0);
  AutogradMetaImpl& meta = meta_of(self);
  const std::lock_guard lock(meta.mutex);
  refresh(self);
}

void check_view_writable(const Tensor& view, bool is_direct) {
  const ViewOrigin origin = view.impl()->view_origin();
  if (__builtin_expect(origin == ViewOrigin::Default, 1)) return;
  const AutogradMetaImpl* meta = meta_or_null(view.impl());
  const Node* maker = meta ? meta->grad_fn.get() : nullptr;
  const bool by_mode =
      origin == ViewOrigin::InNoGrad || origin == ViewOrigin::InInference || !maker;
  const char* what = is_direct ? "is being" : "its base or another view of its base has been";
  std::string prefix;
  if (maker)
    prefix = str("Output ", meta->output_nr, " of ", maker->operation_name(), " is a view");
  if (by_mode) {
    prefix = str(maker ? prefix + " of a view which was created in" : "A view was created in",
                 origin == ViewOrigin::InInference ? " inference" : " no_grad", " mode and ", what,
                 " modified inplace ",
                 origin == ViewOrigin::InInference ? "in normal mode." : "with grad mode enabled.");
  } else {
    prefix = str(prefix, " and ", what, " modified inplace.");
  }
  fail(ErrorKind::Runtime, prefix, explain(origin));
}

namespace {

void tie(const Tensor& source, const Tensor& view, bool is_multi_output) {
  if (source.is_inference() || view.is_same(source)) return;
  // A wrapper that its class made anew for the view: it counts its writes with its base.
  if (__builtin_expect(view.storage() != source.storage(), 0) && dispatch::has_no_memory(view))
    view.impl()->set_storage(source.storage());
  TAEDA_CHECK(view.impl()->has_version_counter(),
              "Inference tensors do not track version counter.");
  ViewOrigin origin = is_inference_mode() ? ViewOrigin::InInference
                      : !grad_enabled()   ? ViewOrigin::InNoGrad
                      : is_multi_output   ? ViewOrigin::MultiOutput
                                          : ViewOrigin::Default;
  TensorImpl* root = source.impl()->view_base();
  // A view of a view made in inference mode stays one, however it is made.
  const ViewOrigin before = source.impl()->view_origin();
  if (root && (origin == ViewOrigin::Default || before == ViewOrigin::InInference)) origin = before;
  view.impl()->set_view_base(root ? IntrusivePtr<TensorImpl>::share(root) : source.impl_ptr(),
                             origin);
  if (root && !has_signs_of(view.impl(), root) && has_signs_of(view.impl(), source.impl()))
    meta_of(view).ends_in_strides = true;
  // Later writes to the base are told from those the view was made after.
  if (const uint32_t version = view.version(); version != 0) meta_of(view).view_version = version;
}

}  // namespace

void track_view(const Tensor& source, const Tensor& view) { tie(source, view, false); }
void track_view(const Tensor& source, const std::vector<Tensor>& views) {
  for (const Tensor& view : views) tie(source, view, true);
}

}  // namespace taeda::autograd
