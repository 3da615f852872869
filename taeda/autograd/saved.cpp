// Saving, checking and restoring tensors of the forward.
#include "taeda/autograd/saved.h"

#include "taeda/autograd/anomaly.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/variable.h"

namespace taeda::autograd {
namespace {

[[noreturn]] void fail_saved(std::string message) {
  OverwrittenErrors& errors = overwritten_errors();
  ++errors.count;
  errors.last = std::move(message);
  throw_error(ErrorKind::Runtime, errors.last);
}

[[noreturn]] void fail_modified(const Tensor& data, uint32_t saved_version, const Node* maker,
                                uint32_t output_nr) {
  std::string origin;
  if (maker) origin = str(", which is output ", output_nr, " of ", maker->operation_name(), ",");
  const char* hint =
      is_anomaly_enabled()
          ? "the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
          : "enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True, check_nan=False).";
  fail_saved(
      str("one of the variables needed for gradient computation has been modified by an inplace "
          "operation: [torch.",
          data.device().is_cpu() ? std::string() : device_type_name(data.device().type) + ".",
          data.dtype(), "Tensor ", data.sym_sizes(), "]", origin, " is at version ", data.version(),
          "; expected version ", saved_version, " instead. Hint: ", hint));
}

}  // namespace

OverwrittenErrors& overwritten_errors() {
  thread_local OverwrittenErrors errors;
  return errors;
}

void fail_freed() {
  fail_saved(
      "Trying to backward through the graph a second time (or directly access saved tensors after "
      "they have already been freed). Saved intermediate values of the graph are freed when you "
      "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
      "through the graph a second time or if you need to access saved tensors after calling "
      "backward.");
}

namespace {

// Without history but with the tangent, which a run of the graph in forward mode needs.
Tensor detached_dual(const Tensor& t) {
  Tensor out = detached(t);
  if (any_tangent(t)) set_tangent(out, tangent_of(t));
  return out;
}

}  // namespace

// The packed form that hooks made of a tensor, and where the gradient of the original goes.
struct SavedTensor::Packed final : RefCounted {
  IntrusivePtr<PackedTensor> values;
  Edge edge;                  // an input with a node
  WeakPtr<Node> accumulator;  // an input that is a leaf; the graph keeps it
  bool requires_grad = false;

  ~Packed() override { release_node(std::move(edge.function)); }
};

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output) : is_output_(is_output) {
  if (!tensor.defined()) return;
  TAEDA_CHECK(
      !tensor.is_inference(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode "
      "in computation tracked by autograd. To work around this, you can make a clone to get a "
      "normal tensor "
      "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  TAEDA_CHECK(tensor.impl()->has_version_counter(),
              "Inference tensors do not track version counter.");
  version_ = tensor.version();
  if (!is_output) {
    has_history_ = has_node(tensor);
  } else if (requires_grad(tensor)) {
    has_history_ = true;
    output_nr_ = output_nr(tensor);
  }
  // A number in tensor clothing is no tensor of the user's to pack.
  if (const auto hooks = default_saved_tensor_hooks();
      __builtin_expect(hooks && !tensor.impl()->is_wrapped_number(), 0)) {
    pack(*hooks, tensor);
    return;
  }
  // An output without history, such as a mask, holds no node that would hold it.
  held_ = (is_output && has_history_ ? detached_dual(tensor) : tensor).impl_ptr();
}

Tensor SavedTensor::plain() const {
  return Tensor(IntrusivePtr<TensorImpl>::share(static_cast<TensorImpl*>(held_.get())));
}

const SavedTensor::Packed& SavedTensor::packed() const {
  return static_cast<const Packed&>(*held_);
}

PackedTensor* SavedTensor::kept_packed() const {
  return is_packed_ && held_ ? packed().values.get() : nullptr;
}

void SavedTensor::pack(SavedTensorHooks& hooks, const Tensor& tensor) {
  auto kept = make_intrusive<Packed>();
  if (!is_output_ && requires_grad(tensor)) {
    kept->requires_grad = true;
    Edge edge = gradient_edge(tensor);
    if (is_leaf(tensor))
      kept->accumulator = WeakPtr<Node>(edge.function);
    else
      kept->edge = std::move(edge);
  }
  const NoGrad unrecorded;
  const uint32_t before = tensor.version();
  try {
    kept->values = hooks.pack(tensor);
  } catch (...) {
    ++num_failed_packs();
    throw;
  }
  TAEDA_CHECK(
      tensor.version() == before,
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
      "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
      "Please open an issue if you need to perform in-place operations on the input to a pack "
      "hook.");
  held_ = std::move(kept);
  is_packed_ = true;
}

void SavedTensor::register_hooks(IntrusivePtr<SavedTensorHooks> hooks) {
  TAEDA_CHECK(
      !is_freed_,
      "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
      "of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if you need to backward through the graph a second time or if you need to "
      "access saved variables after calling backward.");
  TAEDA_CHECK(!is_packed_,
              "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
              "only one pair of hooks is allowed at a time.");
  TAEDA_CHECK(held_, "Calling register_hooks on a saved tensor with value None is forbidden");
  const Tensor tensor = plain();
  pack(*hooks, tensor);
}

void SavedTensor::check_unmodified(const Tensor& data, const Node* node) const {
  if (__builtin_expect(data.version() == version_, 1)) return;
  if (is_output_) fail_modified(data, version_, node, output_nr_);
  const AutogradMetaImpl* meta = meta_or_null(data.impl());
  fail_modified(data, version_, meta ? meta->grad_fn.get() : nullptr, meta ? meta->output_nr : 0);
}

void SavedTensor::check_attached(const Tensor& data) const {
  TAEDA_CHECK(is_output_ || !has_history_ || has_node(data),
              "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). "
              "This is not supported, please use out-of-place `.detach()` instead");
}

Tensor SavedTensor::with_history(const Tensor& data, Node* node) const {
  TAEDA_INTERNAL_CHECK(node, "a saved output needs the node that holds it");
  Tensor restored = detached_dual(data);
  AutogradMetaImpl& meta = meta_of(restored);
  meta.grad_fn = IntrusivePtr<Node>::share(node);
  meta.output_nr = output_nr_;
  restored.impl()->set_requires_grad_flag(true);
  return restored;
}

Tensor SavedTensor::unpack_packed(Node* node) const {
  const Packed& kept = packed();
  const Tensor data = kept.values->unpack();
  if (!data.defined()) return data;
  if (is_output_ && has_history_) return with_history(data, node);
  if (!kept.requires_grad && !requires_grad(data)) return data;
  Tensor restored = detached(data);
  if (!kept.requires_grad) return restored;
  AutogradMetaImpl& meta = meta_of(restored);
  meta.grad_fn = kept.edge.function;
  meta.output_nr = kept.edge.input_nr;
  meta.grad_accumulator = kept.accumulator;
  restored.impl()->set_requires_grad_flag(true);
  return restored;
}

Tensor SavedTensor::unpack(Node* node) const {
  if (__builtin_expect(is_freed_, 0)) fail_freed();
  if (!held_) return {};
  if (__builtin_expect(is_packed_, 0)) return unpack_packed(node);
  Tensor data = plain();
  check_unmodified(data, node);
  check_attached(data);
  // Nobody asks for the history unless something is being recorded.
  return is_output_ && has_history_ && grad_enabled() ? with_history(data, node) : data;
}

void SavedTensor::check(const Node* node) const {
  if (!held_ || is_packed_) return;
  const Tensor data = plain();
  check_unmodified(data, node);
  check_attached(data);
}

Tensor SavedTensor::unpack_with_history(Node* node) const {
  Tensor data = unpack(node);
  const bool lacks_history = is_output_ && has_history_ && !is_packed_ && !requires_grad(data);
  return lacks_history ? with_history(data, node) : data;
}

void SavedTensor::release() {
  held_.reset();
  is_freed_ = true;
}

}  // namespace taeda::autograd
