// The rules shared by functions with a backward of the user's, written in C++ (function.h) or
// Python.
#pragma once

#include "taeda/autograd/saved.h"
#include "taeda/base/function_ref.h"

namespace taeda::autograd {

// A view of an input that a custom function returned as it is.
using ViewOfInput = Tensor (*)(const Tensor& input);
TAEDA_API Tensor view_without_grad(const Tensor& input);

// One call of a custom function.
struct CustomCall {
  Span<Tensor> inputs;  // the tensors among the arguments, one for each edge of the node
  Span<Tensor> dirty;   // inputs the forward wrote to; all of them are outputs
  Span<Tensor> non_differentiable;
  // Saved by a step behind the forward, which sees what the forward returned: no input that came
  // back as it is may be among them.
  Span<Tensor> saved_behind = {};
  ViewOfInput view = &view_without_grad;
};

// Makes `node` the history of the outputs; null: the call is not recorded. Undefined outputs stand
// for results that are no tensors. An input that comes back unchanged is replaced by a view of
// itself, and views must not be written to afterwards, because that would go around the custom
// backward.
TAEDA_API void record_outputs(std::vector<Tensor>& outputs, const CustomCall& call,
                              const IntrusivePtr<Node>& node);

// Called with the gradient of an output, which is complete by now: what goes on instead.
using ShowInner = FunctionRef<Tensor(uint32_t output, const Tensor& grad)>;

// The node of a custom function: saved tensors, and the bookkeeping between the arguments of the
// forward, of which only some are tensors, and the node's edges.
class TAEDA_API CustomNode : public Node {
 public:
  bool wants_undefined() const override { return true; }
  void release_saved() override;

  // After record_outputs; saved outputs are told by identity.
  void save(Span<Tensor> tensors, Span<Tensor> outputs);
  std::vector<Tensor> saved_tensors();
  std::vector<SavedTensor>& saved() { return saved_; }
  size_t num_arguments() const { return is_tensor_.size(); }
  bool is_tensor_argument(size_t i) const { return is_tensor_[i]; }
  // Whether the gradient of an output is complete in the middle of backward alone, since others are
  // made of it: what arrives at the node is a part.
  virtual bool is_inner(uint32_t) const { return false; }
  // Backward for runs that ask for such gradients: each of them that a gradient has arrived for is
  // shown once. Defined by nodes that have some.
  virtual void apply_and_show(Span<Tensor> grads, std::vector<Tensor>& grad_inputs,
                              Span<uint32_t> asked, ShowInner show);
  // Whether backward should compute the gradient of argument `i` in the run that is going on.
  bool needs_argument(size_t i) const;

 protected:
  explicit CustomNode(std::vector<bool> is_tensor_argument)
      : is_tensor_(std::move(is_tensor_argument)) {}
  void release_resources() override;

  // Backward will get zeros shaped like these outputs where no gradient arrived; not like
  // undefined ones.
  void remember_outputs(Span<Tensor> outputs);
  std::vector<Tensor> materialized(Span<Tensor> grads) const;
  // Checks the gradients that backward returned, one per argument, and hands them to the edges.
  void route(std::vector<Tensor> results, std::vector<Tensor>& grad_inputs) const;

 private:
  std::vector<SavedTensor> saved_;
  std::vector<bool> is_tensor_;
  std::vector<InputMetadata> output_like_;
};

// The same values; going backward through them raises `message`. Undefined ones stay so.
TAEDA_API std::vector<Tensor> delay_error(std::string message, const std::vector<Tensor>& tensors);

}  // namespace taeda::autograd
