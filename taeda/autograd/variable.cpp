// Histories, leaves, gradients and hooks of tensors that are not views; views are in
// view_history.cpp.
#include "taeda/autograd/variable.h"

#include "taeda/autograd/accumulate_grad.h"
#include "taeda/autograd/view_history.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

AutogradMetaImpl::AutogradMetaImpl() = default;
AutogradMetaImpl::~AutogradMetaImpl() { release_node(std::move(grad_fn)); }

AutogradMetaImpl& meta_of(TensorImpl* t) {
  if (!t->autograd_meta()) t->set_autograd_meta(std::make_unique<AutogradMetaImpl>());
  return *meta_or_null(t);
}

IntrusivePtr<Node> grad_fn(const Tensor& t) {
  if (!t.defined()) return nullptr;
  if (t.is_view()) return view_grad_fn(t);
  const AutogradMetaImpl* meta = meta_or_null(t.impl());
  return meta ? meta->grad_fn : nullptr;
}

uint32_t output_nr(const Tensor& t) {
  const AutogradMetaImpl* meta = t.defined() ? meta_or_null(t.impl()) : nullptr;
  return meta ? meta->output_nr : 0;
}

IntrusivePtr<Node> grad_accumulator(const Tensor& t) {
  AutogradMetaImpl& meta = meta_of(t);
  const std::lock_guard lock(meta.mutex);
  if (IntrusivePtr<Node> alive = meta.grad_accumulator.lock()) return alive;
  auto fresh = make_intrusive<AccumulateGrad>(t);
  if (meta.hooks) fresh->share_hooks(meta.hooks);
  if (meta.has_grad_dtype) fresh->set_input_dtype(0, meta.grad_dtype);
  meta.grad_accumulator = WeakPtr<Node>(IntrusivePtr<Node>(fresh));
  return fresh;
}

IntrusivePtr<Node> try_grad_accumulator(const Tensor& t) {
  AutogradMetaImpl* meta = t.defined() ? meta_or_null(t.impl()) : nullptr;
  if (!meta) return nullptr;
  const std::lock_guard lock(meta->mutex);
  return meta->grad_accumulator.lock();
}

Edge gradient_edge(const Tensor& t) {
  if (IntrusivePtr<Node> node = grad_fn(t)) return {std::move(node), output_nr(t)};
  // A view without a node that requires grad through its base alone is no leaf of the graph.
  if (t.defined() && t.impl()->requires_grad_flag()) return {grad_accumulator(t), 0};
  return {};
}

const Tensor& grad(const Tensor& t) {
  static const Tensor none;
  const AutogradMetaImpl* meta = t.defined() ? meta_or_null(t.impl()) : nullptr;
  return meta ? meta->grad : none;
}

std::optional<DType> grad_dtype(const Tensor& t) {
  TAEDA_CHECK(is_leaf(t), "grad_dtype can only be accessed on leaf tensors.");
  const AutogradMetaImpl* meta = meta_or_null(t.impl());
  return meta && meta->has_grad_dtype ? meta->grad_dtype : t.dtype();
}

void set_grad_dtype(const Tensor& t, std::optional<DType> dtype) {
  TAEDA_CHECK(is_leaf(t), "grad_dtype can only be set on leaf tensors.");
  const Tensor& kept = grad(t);
  TAEDA_CHECK(!dtype || !kept.defined() || kept.dtype() == *dtype, "Cannot set grad_dtype to '",
              *dtype, "' because there is already a gradient with dtype '", kept.dtype(),
              "'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure "
              "the new grad_dtype matches the existing gradient's dtype.");
  AutogradMetaImpl& meta = meta_of(t);
  meta.grad_dtype = dtype;
  meta.has_grad_dtype = true;
  if (const IntrusivePtr<Node> accumulator = try_grad_accumulator(t))
    accumulator->set_input_dtype(0, dtype);
}

bool retains_grad(const Tensor& t) {
  const AutogradMetaImpl* meta = t.defined() ? meta_or_null(t.impl()) : nullptr;
  return meta && meta->retains_grad;
}

void set_requires_grad(const Tensor& t, bool value) {
  TAEDA_CHECK(
      !value || !t.is_inference() || is_inference_mode(),
      "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (has_node(t)) {
    TAEDA_CHECK(
        value,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable "
        "in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    return;
  }
  TAEDA_CHECK(!value || is_differentiable(t.dtype()),
              "only Tensors of floating point and complex dtype can require gradients");
  if (value) meta_of(t);  // here, where one thread has the tensor
  t.impl()->set_requires_grad_flag(value);
}

namespace {

// As C++ calls the dtype, which is how PyTorch's message names that of a gradient.
std::string name_in_cpp(DType dtype) {
  switch (dtype) {
    case DType::Float: return "float";
    case DType::Double: return "double";
    case DType::ComplexFloat: return "c10::complex<float>";
    case DType::ComplexDouble: return "c10::complex<double>";
    default: return str("c10::", dtype);
  }
}

}  // namespace

void set_grad(const Tensor& t, Tensor grad) {
  if (grad.defined()) {
    TAEDA_CHECK(!grad.is_same(t), "can't assign Variable as its own grad");
    const AutogradMetaImpl* meta = meta_or_null(t.impl());
    const auto wanted = meta && meta->has_grad_dtype ? meta->grad_dtype : std::optional(t.dtype());
    TAEDA_CHECK(!wanted || grad.dtype() == *wanted, "attempting to assign a gradient with dtype '",
                name_in_cpp(grad.dtype()), "' to a tensor with grad_dtype '", *wanted,
                "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or "
                "None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a "
                "tensor and its gradient may break downstream systems that assume they match.");
    TAEDA_CHECK(grad.device().type == t.device().type,
                "attempting to assign a gradient with device type '",
                device_type_name(grad.device().type), "' to a tensor with device type '",
                device_type_name(t.device().type),
                "'. Please ensure that the gradient and the tensor are on the same device");
    TAEDA_CHECK(grad.device() == t.device(), "attempting to assign a gradient located on device '",
                grad.device(), "' to a tensor located on device '", t.device(),
                "'. Please ensure that the gradient and the tensor are on the same device");
    TAEDA_CHECK(grad.sym_sizes() == t.sym_sizes(), "attempting to assign a gradient of size '",
                grad.sym_sizes(), "' to a tensor of size '", t.sym_sizes(),
                "'. Please ensure that the gradient and the tensor are the same size");
  } else if (!meta_or_null(t.impl())) {
    return;
  }
  meta_of(t).grad = std::move(grad);
}

void set_data(const Tensor& t, const Tensor& source) {
  TAEDA_CHECK(
      !requires_grad(t) || is_differentiable(source),
      "data set to a tensor that requires gradients must be floating point or complex dtype");
  const bool is_alike = source.dtype() == t.dtype() && source.device() == t.device();
  if (t.is_view()) keep_geometry(t);
  t.impl()->take_data(*source.impl());
  // The accumulator expects gradients of the old kind.
  if (AutogradMetaImpl* meta = meta_or_null(t.impl()); meta && !is_alike)
    meta->grad_accumulator = WeakPtr<Node>();
}

namespace {

// Its class makes the detached tensor; both count writes together all the same.
Tensor detached_by_handler(const Tensor& t) {
  const BelowADInplaceOrView below;
  Tensor out = taeda::detach(t);
  if (dispatch::has_no_memory(t) && dispatch::has_no_memory(out))
    out.impl()->set_storage(t.storage());
  return out;
}

}  // namespace

Tensor detached(const Tensor& t) {
  // Modes and classes see it as an operator; wrappers of levels share what they wrap.
  if (__builtin_expect(dispatch::with_local(t.keys()).has(Key::Python), 0) &&
      !t.keys().has(Key::TransformBack))
    return detached_by_handler(t);
  const TensorImpl* impl = t.impl();
  Tensor out =
      impl->has_symbolic_sizes()
          ? make_alias_sym(t, impl->sym_sizes(), impl->sym_strides(), impl->sym_storage_offset())
          : make_alias(t, impl->sizes(), impl->strides(), impl->storage_offset());
  if (const TensorExtra* extra = impl->extra_or_null();
      extra && (extra->wrapper || extra->backend_meta)) {
    out.impl()->extra().wrapper = extra->wrapper;
    out.impl()->extra().backend_meta = extra->backend_meta;
    out.impl()->set_keys(impl->keys() - KeySet(Key::Autograd));
  }
  return out;
}

void detach_inplace(const Tensor& t) {
  if (is_inference_mode() || t.is_inference()) return;  // nothing is recorded there, nor cut off
  TAEDA_CHECK(
      !t.is_view(),
      "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
      "(DDP) for "
      "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, "
      "and hence "
      "detach_() cannot be called on these gradients. To fix this error, please refer to the "
      "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.");
  if (AutogradMetaImpl* meta = meta_or_null(t.impl())) {
    release_node(std::move(meta->grad_fn));
    meta->output_nr = 0;
    meta->tangent.reset();
  }
  t.impl()->set_requires_grad_flag(false);
  t.impl()->set_has_tangent(false);
}

// ---- hooks ----

namespace {

NodeHooks& hooks_of(const Tensor& t) {
  if (IntrusivePtr<Node> node = grad_fn(t)) return *node->ensure_hooks();
  AutogradMetaImpl& meta = meta_of(t);
  if (!meta.hooks) {
    IntrusivePtr<Node> accumulator = try_grad_accumulator(t);
    meta.hooks = accumulator ? accumulator->ensure_hooks() : std::make_shared<NodeHooks>();
  }
  return *meta.hooks;
}

// Whether the node had it.
bool drop_retain(Node* node, const TensorImpl* t) {
  return node && node->hooks() &&
         std::erase_if(node->hooks()->retain,
                       [t](const NodeHooks::Retain& r) { return r.key == t; }) > 0;
}

// A tensor that keeps its gradient keeps that of its newest values.
void move_retain(TensorImpl* t, Node* fresh, uint32_t output_nr) {
  const AutogradMetaImpl* meta = meta_or_null(t);
  if (!meta || !meta->retains_grad || !drop_retain(meta->grad_fn.get(), t)) return;
  fresh->ensure_hooks()->retain.push_back(
      {output_nr, WeakPtr<TensorImpl>(IntrusivePtr<TensorImpl>::share(t)), t});
}

}  // namespace

void retain_grad(const Tensor& t) {
  TAEDA_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (!has_node(t) || retains_grad(t)) return;  // a leaf keeps its gradient anyway
  IntrusivePtr<Node> node = grad_fn(t);
  AutogradMetaImpl& meta = meta_of(t);
  node->ensure_hooks()->retain.push_back(
      {meta.output_nr, WeakPtr<TensorImpl>(t.impl_ptr()), t.impl()});
  meta.retains_grad = true;
}

uint64_t register_hook(const Tensor& t, TensorHook hook) {
  TAEDA_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  NodeHooks& hooks = hooks_of(t);
  return hooks.add_tensor(output_nr(t), std::move(hook));
}

uint64_t register_post_accumulate_hook(const Tensor& t, PostAccumulateHook hook) {
  TAEDA_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  TAEDA_CHECK(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return hooks_of(t).add_post_accumulate(std::move(hook));
}

bool remove_hook(const Tensor& t, uint64_t id) {
  if (const IntrusivePtr<Node> node = grad_fn(t)) return node->hooks() && node->hooks()->remove(id);
  AutogradMetaImpl* meta = meta_or_null(t.impl());
  return meta && meta->hooks && meta->hooks->remove(id);
}

// ---- recording ----

namespace {

void put_node(TensorImpl* t, IntrusivePtr<Node> node, uint32_t output_nr) {
  AutogradMetaImpl& meta = meta_of(t);
  release_node(std::exchange(meta.grad_fn, std::move(node)));
  meta.output_nr = output_nr;
  if (t->view_base()) meta.view_version = t->version();
  t->set_requires_grad_flag(true);
}

}  // namespace

void assign_node(TensorImpl* t, IntrusivePtr<Node> node, uint32_t output_nr) {
  move_retain(t, node.get(), output_nr);
  put_node(t, std::move(node), output_nr);
}

// A new result has no retain_grad hook; that of a tensor which changes its own geometry stays with
// the values it had, as in PyTorch.
void set_history(const Tensor& output, IntrusivePtr<Node> node, uint32_t output_nr) {
  if (!output.defined() || !is_differentiable(output.dtype())) {
    node->set_input_metadata(output_nr, Tensor());
    return;
  }
  node->set_input_metadata(output_nr, output);
  put_node(output.impl(), std::move(node), output_nr);
}

void set_history(const std::vector<Tensor>& outputs, const IntrusivePtr<Node>& node,
                 uint32_t first_output_nr) {
  for (size_t i = 0; i < outputs.size(); ++i)
    set_history(outputs[i], node, first_output_nr + static_cast<uint32_t>(i));
}

void rebase_history(const Tensor& self, IntrusivePtr<Node> node, uint32_t output_nr,
                    size_t self_edge) {
  if (!self.is_view()) {
    move_retain(self.impl(), node.get(), output_nr);
    return set_history(self, std::move(node), output_nr);
  }
  if (!is_differentiable(self.dtype())) return;
  rebase_view_history(self, std::move(node), self_edge);
}

void check_inplace(const Tensor& self, bool any_requires_grad) {
  if (!any_requires_grad || !grad_enabled()) return;
  if (self.is_view()) {
    check_view_writable(self, /*is_direct=*/true);
    const Tensor base(IntrusivePtr<TensorImpl>::share(self.impl()->view_base()));
    TAEDA_CHECK(
        !requires_grad(self) || !is_leaf(base),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  TAEDA_CHECK(!requires_grad(self) || !is_leaf(self),
              "a leaf Variable that requires grad is being used in an in-place operation.");
}

void fail_out_requires_grad(const char* op) {
  fail(ErrorKind::Runtime, op,
       "(): functions with out=... arguments don't support automatic differentiation, but one of "
       "the arguments "
       "requires grad.");
}

void check_constant(const char* op, const char* argument, const Tensor& t) {
  TAEDA_CHECK(!grad_enabled() || !requires_grad(t), "The function '", op,
              "' is not differentiable with respect to argument '", argument,
              "'. This input cannot have requires_grad True.");
}

}  // namespace taeda::autograd
