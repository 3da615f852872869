// Saving, checking and restoring tensors of the forward.
#include "taeda/autograd/saved.h"

#include "taeda/autograd/variable.h"

namespace taeda::autograd {
namespace {

[[noreturn]] void fail_modified(const Tensor& data, uint32_t saved_version, const Node* maker,
                                uint32_t output_nr) {
  std::string origin;
  if (maker) origin = str(", which is output ", output_nr, " of ", maker->operation_name(), ",");
  fail(ErrorKind::Runtime,
       "one of the variables needed for gradient computation has been modified by an inplace "
       "operation: [torch.",
       data.device().is_cpu() ? std::string() : device_type_name(data.device().type) + ".",
       data.dtype(), "Tensor ", data.sym_sizes(), "]", origin, " is at version ", data.version(),
       "; expected version ", saved_version,
       " instead. Hint: enable anomaly detection to find the operation that failed to compute its "
       "gradient, with "
       "torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

}  // namespace

void fail_freed() {
  fail(ErrorKind::Runtime,
       "Trying to backward through the graph a second time (or directly access saved tensors after "
       "they have "
       "already been freed). Saved intermediate values of the graph are freed when you call "
       ".backward() or "
       "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
       "second time or "
       "if you need to access saved tensors after calling backward.");
}

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output) : is_output_(is_output) {
  if (!tensor.defined()) return;
  TAEDA_CHECK(
      !tensor.is_inference(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode "
      "in computation tracked by autograd. To work around this, you can make a clone to get a "
      "normal tensor "
      "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  data_ = is_output ? detached(tensor) : tensor;
  version_ = tensor.version();
  if (is_output && requires_grad(tensor)) {
    has_history_ = true;
    output_nr_ = output_nr(tensor);
  }
}

Tensor SavedTensor::unpack(Node* node) const {
  if (__builtin_expect(is_freed_, 0)) fail_freed();
  if (!data_.defined()) return data_;
  if (__builtin_expect(data_.version() != version_, 0)) {
    const AutogradMetaImpl* meta = meta_or_null(data_.impl());
    fail_modified(data_, version_,
                  is_output_ ? node
                  : meta     ? meta->grad_fn.get()
                             : nullptr,
                  is_output_ || !meta ? output_nr_ : meta->output_nr);
  }
  // Nobody asks for the history unless something is being recorded.
  if (!has_history_ || !grad_enabled()) return data_;
  TAEDA_INTERNAL_CHECK(node, "a saved output needs the node that holds it");
  Tensor restored = detached(data_);
  AutogradMetaImpl& meta = meta_of(restored);
  meta.grad_fn = IntrusivePtr<Node>::share(node);
  meta.output_nr = output_nr_;
  restored.impl()->set_requires_grad_flag(true);
  return restored;
}

void SavedTensor::release() {
  data_.reset();
  is_freed_ = true;
}

}  // namespace taeda::autograd
