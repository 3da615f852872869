// Recording and running of functions written in C++.
#include "taeda/autograd/function.h"

#include <cxxabi.h>

#include <cstdlib>

namespace taeda::autograd {

std::string autograd_detail::function_name(const char* type_name) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(type_name, nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : type_name;
  std::free(readable);
  const size_t scope = name.rfind("::");
  return (scope == std::string::npos ? name : name.substr(scope + 2)) + "Backward";
}

std::vector<Tensor> AutogradContext::get_saved_variables() const {
  return node_ ? node_->saved_tensors() : to_save_;
}

bool AutogradContext::needs_input_grad(size_t i) const {
  return node_ ? node_->needs_argument(i) : i < needs_.size() && needs_[i];
}

void FunctionNode::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  route(backward_(&context, materialized(grads)), grad_inputs);
}

void FunctionNode::finish(std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                          bool is_recording) {
  for (const Tensor& t : context.dirty_) t.impl()->bump_version();
  record_outputs(outputs, {inputs, context.dirty_, context.non_differentiable_},
                 is_recording ? IntrusivePtr<Node>::share(this) : nullptr);
  if (is_recording) {
    save(context.to_save_, outputs);
    if (context.materializes_) remember_outputs(outputs);
    context.node_ = this;
  }
  context.to_save_.clear();
  context.dirty_.clear();
  context.non_differentiable_.clear();
}

}  // namespace taeda::autograd
